package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sluice/loadtest/internal/chaos"
	"sluice/loadtest/internal/report"
	"sluice/shared/service"
)

// marks are lines of a document between which stands what a run found.
type marks struct{ begins, ends string }

var (
	matrixMarks        = marks{"<!-- matrix: make matrix -->\n", "<!-- /matrix -->\n"}
	clusterMatrixMarks = marks{"<!-- matrix: make cluster-matrix -->\n", "<!-- /cluster matrix -->\n"}
)

// matrixCommand prints what a run of chaos found as a table in Markdown, or puts it into a document.
func matrixCommand(_ context.Context, args []string, getenv func(string) string, stdout, _ io.Writer) error {
	fs := flag.NewFlagSet("matrix", flag.ContinueOnError)
	cluster := fs.Bool("cluster", false, "of chaos -cluster, between marks of its own")
	from := fs.String("report", "", "`file` that loadtest chaos wrote (default out/chaos/report.json, with -cluster out/cluster-chaos/report.json)")
	into := fs.String("into", "", "`file` in Markdown to put the table into, between its marks; printed if empty")
	if err := service.Parse(fs, args, getenv); err != nil {
		return err
	}
	*from = cmp.Or(*from, filepath.Join(chaosOut(*cluster), "report.json"))
	content, err := os.ReadFile(*from)
	if err != nil {
		return service.UsageErrorf("-report (SLUICE_REPORT): run loadtest chaos first: %v", err)
	}
	var rep report.Report
	if err := json.Unmarshal(content, &rep); err != nil {
		return service.UsageErrorf("-report (SLUICE_REPORT): %s is no report: %v", *from, err)
	}
	if len(rep.Faults) == 0 {
		return service.UsageErrorf("-report (SLUICE_REPORT): %s has no rounds of chaos", *from)
	}
	var table bytes.Buffer
	if err := rep.PrintMatrix(&table); err != nil {
		return err
	}
	if *into == "" {
		_, err := stdout.Write(table.Bytes())
		return err
	}
	if err := complete(rep, *from, *cluster); err != nil {
		return err
	}
	if *cluster {
		return clusterMatrixMarks.put(*into, table.Bytes())
	}
	return matrixMarks.put(*into, table.Bytes())
}

// complete refuses a report that lacks rounds of its rows: what it would replace has them all.
func complete(rep report.Report, from string, cluster bool) error {
	rows, which := chaos.Rows(), "loadtest chaos"
	if cluster {
		rows, which = chaos.ClusterRows(), "loadtest chaos -cluster"
	}
	type round struct {
		row  string
		seed uint64
	}
	done, seeds := make(map[round]bool), make(map[uint64]bool)
	for _, f := range rep.Faults {
		done[round{f.Row, f.Seed}], seeds[f.Seed] = !f.Interrupted, true
	}
	var missing []string
	for _, row := range rows {
		for seed := range seeds {
			if !done[round{row.ID, seed}] {
				missing = append(missing, row.ID)
				break
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return service.UsageErrorf("-into (SLUICE_INTO): %s lacks rounds of %d of %d rows (%s): run %s with neither -only, -except nor -short to its end, or leave -into out to print the table",
		from, len(missing), len(rows), strings.Join(missing, ", "), which)
}

// around is what a document has before and after the marks.
func (m marks) around(path string) (head, tail []byte, err error) {
	document, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, service.UsageErrorf("-into (SLUICE_INTO): %v", err)
	}
	head, rest, begins := bytes.Cut(document, []byte(m.begins))
	_, tail, ends := bytes.Cut(rest, []byte(m.ends))
	if !begins || !ends {
		return nil, nil, service.UsageErrorf("-into (SLUICE_INTO): %s lacks a line %q and after it a line %q", path, m.begins[:len(m.begins)-1], m.ends[:len(m.ends)-1])
	}
	return head, tail, nil
}

// put replaces what a document has between the marks.
func (m marks) put(path string, text []byte) error {
	head, tail, err := m.around(path)
	if err != nil {
		return err
	}
	made := bytes.Join([][]byte{head, []byte(m.begins), text, []byte(m.ends), tail}, nil)
	if err := os.WriteFile(path, made, 0o644); err != nil {
		return fmt.Errorf("cannot write what was found into %s: %w", path, err)
	}
	return nil
}
