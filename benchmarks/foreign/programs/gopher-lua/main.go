// Command gopher-lua prices orders with a script of the shop's owner, as a server does that lets
// its users extend it: for each order it makes a Lua state, runs the script's text and calls a
// function.
//
// The form after the change compiles the script once and keeps states in a pool: both are in the
// module's README.
package main

import (
	"fmt"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

// script is what a user writes: tables of rates, a few helpers, and the function that is called.
const script = `
local rates = { books = 0.07, food = 0.07, tools = 0.19, toys = 0.19, music = 0.19 }
local zones = {
  north = { base = 4.5, perkg = 0.60 }, south = { base = 4.9, perkg = 0.65 },
  east  = { base = 5.2, perkg = 0.70 }, west  = { base = 4.7, perkg = 0.62 },
}
local coupons = { SPRING = 0.10, LOYAL = 0.05, STAFF = 0.25 }

local function round(x) return math.floor(x * 100 + 0.5) / 100 end

local function tax(item)
  local rate = rates[item.kind] or 0.19
  return item.price * item.count * rate
end

local function shipping(order, weight)
  local zone = zones[order.zone]
  if not zone then error("no zone " .. tostring(order.zone)) end
  if order.total > 150 then return 0 end
  return zone.base + weight * zone.perkg
end

function price(order)
  local sum, taxes, weight = 0, 0, 0
  local lines = {}
  for i, item in ipairs(order.items) do
    sum = sum + item.price * item.count
    taxes = taxes + tax(item)
    weight = weight + item.weight * item.count
    lines[#lines + 1] = string.format("%3d x %-12s %9.2f", item.count, item.name, item.price * item.count)
  end
  order.total = sum
  local off = coupons[order.coupon] or 0
  local result = round(sum * (1 - off) + taxes + shipping(order, weight))
  return result, table.concat(lines, "\n")
end
`

var (
	kinds   = []string{"books", "food", "tools", "toys", "music"}
	zones   = []string{"north", "south", "east", "west"}
	coupons = []string{"", "", "", "SPRING", "LOYAL", "STAFF"}
)

// order makes the table of the i-th order.
func order(l *lua.LState, i int) *lua.LTable {
	items := l.NewTable()
	for j := range 3 + i%8 {
		item := l.NewTable()
		item.RawSetString("name", lua.LString(fmt.Sprintf("article %d", (i*7+j*13)%5000)))
		item.RawSetString("kind", lua.LString(kinds[(i+j)%len(kinds)]))
		item.RawSetString("price", lua.LNumber(float64((i*31+j*17)%9000)/100+1))
		item.RawSetString("count", lua.LNumber(1+(i+j)%4))
		item.RawSetString("weight", lua.LNumber(float64((i+j*3)%50)/10))
		items.Append(item)
	}
	t := l.NewTable()
	t.RawSetString("items", items)
	t.RawSetString("zone", lua.LString(zones[i%len(zones)]))
	t.RawSetString("coupon", lua.LString(coupons[i%len(coupons)]))
	return t
}

// call prices the i-th order in a state that has run the script.
func call(l *lua.LState, i int) {
	err := l.CallByParam(lua.P{Fn: l.GetGlobal("price"), NRet: 2, Protect: true}, order(l, i))
	if err != nil {
		panic(err)
	}
	if price, text := l.ToNumber(-2), l.ToString(-1); price <= 0 || text == "" {
		panic(fmt.Sprintf("order %d costs %v", i, price))
	}
	l.Pop(2)
}

func before() load.Op {
	return func(i int) {
		l := lua.NewState()
		defer l.Close()
		if err := l.DoString(script); err != nil {
			panic(err)
		}
		call(l, i)
	}
}

func after() load.Op {
	chunk, err := parse.Parse(strings.NewReader(script), "price")
	if err != nil {
		panic(err)
	}
	proto, err := lua.Compile(chunk, "price")
	if err != nil {
		panic(err)
	}
	states := sync.Pool{New: func() any {
		l := lua.NewState()
		l.Push(l.NewFunctionFromProto(proto))
		if err := l.PCall(0, 0, nil); err != nil {
			panic(err)
		}
		return l
	}}
	return func(i int) {
		l := states.Get().(*lua.LState)
		call(l, i)
		states.Put(l)
	}
}

func main() { load.Main(load.Sample{Ops: 5_000, Before: before, After: after}) }
