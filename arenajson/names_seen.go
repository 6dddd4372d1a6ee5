// SPDX-License-Identifier: Apache-2.0

package arenajson

// nameSets are the names that the objects around a place have. An object within another one has the next set.
type nameSets struct {
	sets []nameSet
	used int
}

// A nameSet has the names of an object: in a row, and once they are many, in a map.
type nameSet struct {
	row   []string
	index map[string]struct{}
}

const (
	rowNames  = 16      // So many names are compared one by one.
	keptNames = 1 << 10 // Room for so many is kept for the next object.
)

// open begins a set, which must be closed before the one that was opened before it.
func (n *nameSets) open() int {
	if n.used == len(n.sets) {
		n.sets = append(n.sets, nameSet{})
	}
	n.used++
	return n.used - 1
}

// insert adds a name, or reports false if the set has it.
func (n *nameSets) insert(set int, name string) bool {
	s := &n.sets[set]
	if len(s.index) == 0 {
		for _, old := range s.row {
			if old == name {
				return false
			}
		}
		s.row = append(s.row, name)
		if len(s.row) < rowNames {
			return true
		}
		if s.index == nil {
			s.index = make(map[string]struct{}, 4*rowNames)
		}
		for _, old := range s.row {
			s.index[old] = struct{}{}
		}
		return true
	}
	size := len(s.index)
	s.index[name] = struct{}{}
	return len(s.index) > size
}

// close ends a set and those opened after it.
func (n *nameSets) close(set int) {
	for ; n.used > set; n.used-- {
		s := &n.sets[n.used-1]
		if len(s.index) > keptNames {
			s.index = nil
		}
		clear(s.index)
		clear(s.row)
		s.row = s.row[:0]
	}
}

// emptied are the sets for the next document.
func (n *nameSets) emptied() nameSets {
	n.close(0)
	if len(n.sets) > keptNames {
		return nameSets{}
	}
	return *n
}
