// Command excelize writes and reads workbooks with xuri/excelize: a reporting job that turns the
// bookings of a customer into a sheet, and an import that reads the rows of such a sheet.
package main

import (
	"bytes"
	"fmt"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const rows = 400

func main() {
	load.Main(load.Sample{Ops: 80, Before: before})
}

func before() load.Op {
	var last bytes.Buffer
	return func(i int) {
		if i%2 == 0 {
			last.Reset()
			write(&last, i)
			return
		}
		if n := read(&last); n != rows+1 {
			panic(fmt.Sprintf("%d rows were read", n))
		}
	}
}

func write(to *bytes.Buffer, customer int) {
	f := excelize.NewFile()
	defer f.Close()
	head, err := f.NewStyle(&excelize.Style{Font: &excelize.Font{Bold: true}})
	check(err)
	check(f.SetSheetRow("Sheet1", "A1", &[]any{"booking", "date", "text", "account", "net", "tax", "gross", "currency", "paid", "note"}))
	check(f.SetRowStyle("Sheet1", 1, 1, head))
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for r := range rows {
		net := float64((customer*31+r*17)%9000) / 100
		check(f.SetSheetRow("Sheet1", fmt.Sprintf("A%d", r+2), &[]any{
			customer*1000 + r, day.AddDate(0, 0, r%365), fmt.Sprintf("invoice %d of customer %d", r, customer), 4400 + r%40,
			net, net * 0.19, net * 1.19, "EUR", r%7 != 0, fmt.Sprintf("note %d", r%50),
		}))
	}
	check(f.SetColWidth("Sheet1", "A", "J", 14))
	check(f.Write(to))
}

func read(from *bytes.Buffer) int {
	f, err := excelize.OpenReader(bytes.NewReader(from.Bytes()))
	check(err)
	defer f.Close()
	table, err := f.GetRows("Sheet1")
	check(err)
	return len(table)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
