// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"math"
)

// Number computes the attribute of that name. The name true is 1 and false is 0; other names in the
// expression are attributes of the same block.
func (b *Block) Number(name string) (float64, error) {
	v, err := b.attribute(name, 0)
	if err != nil {
		return 0, fmt.Errorf("config: line %d: %s %q: %s: %w", b.Line, b.Kind, b.Label, name, err)
	}
	return v, nil
}

func (b *Block) attribute(name string, depth int) (float64, error) {
	if depth > len(b.Attributes) {
		return 0, errors.New("the attribute depends on itself")
	}
	for i := range b.Attributes {
		if b.Attributes[i].Name == name {
			return b.eval(b.Attributes[i].Value, depth)
		}
	}
	return 0, fmt.Errorf("there is no %s", name)
}

func (b *Block) eval(x Expr, depth int) (float64, error) {
	switch x := x.(type) {
	case *Number:
		return x.Value, nil
	case *Name:
		if x.Name == "true" || x.Name == "false" {
			return truth(x.Name == "true"), nil
		}
		return b.attribute(x.Name, depth+1)
	case *Unary:
		v, err := b.eval(x.X, depth)
		if x.Op == '!' {
			return truth(v == 0), err
		}
		return -v, err
	case *Binary:
		v, err := b.eval(x.X, depth)
		if err != nil {
			return 0, err
		}
		w, err := b.eval(x.Y, depth)
		if err != nil {
			return 0, err
		}
		return x.Op.apply(v, w), nil
	}
	return 0, fmt.Errorf("%T is no number", x)
}

// apply computes a binary operator.
func (k Kind) apply(v, w float64) float64 {
	switch k {
	case Or:
		return truth(v != 0 || w != 0)
	case And:
		return truth(v != 0 && w != 0)
	case Equal:
		return truth(v == w)
	case NotEqual:
		return truth(v != w)
	case LessEqual:
		return truth(v <= w)
	case GreaterEqual:
		return truth(v >= w)
	case '<':
		return truth(v < w)
	case '>':
		return truth(v > w)
	case '+':
		return v + w
	case '-':
		return v - w
	case '*':
		return v * w
	case '/':
		return v / w
	}
	return math.Mod(v, w) // %, the last operator.
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
