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
	if *cluster {
		return clusterMatrixMarks.put(*into, table.Bytes())
	}
	return matrixMarks.put(*into, table.Bytes())
}

// put replaces what a document has between the marks.
func (m marks) put(path string, text []byte) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return service.UsageErrorf("-into (SLUICE_INTO): %v", err)
	}
	head, rest, begins := bytes.Cut(document, []byte(m.begins))
	_, tail, ends := bytes.Cut(rest, []byte(m.ends))
	if !begins || !ends {
		return service.UsageErrorf("-into (SLUICE_INTO): %s lacks a line %q and after it a line %q", path, m.begins[:len(m.begins)-1], m.ends[:len(m.ends)-1])
	}
	made := bytes.Join([][]byte{head, []byte(m.begins), text, []byte(m.ends), tail}, nil)
	if err := os.WriteFile(path, made, 0o644); err != nil {
		return fmt.Errorf("cannot write what was found into %s: %w", path, err)
	}
	return nil
}
