package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/shared/failpoint"
	"sluice/shared/load"
	"sluice/shared/retirement"
)

// A point that its program does not know cannot be armed: a test that needs it
// would fail, and one that is written later would be told so late.
func TestFailpoints_ProgramsKnowEveryOneInTheirCode(t *testing.T) {
	t.Parallel()
	bin := programs(t)
	common := map[string][]string{"warmup": append(load.Points(), retirement.Points()...)}
	for _, point := range load.Points() {
		common["worker"] = append(common["worker"], "rebuild."+point)
	}
	for _, point := range retirement.Points() {
		common["worker"] = append(common["worker"], "worker."+point)
	}
	for program, constant := range map[string]string{
		"gateway": `\w+\s*=\s*"(gateway\.[a-z_]+)"`,
		"worker":  `\w+\s*=\s*"(worker\.[a-z_]+)"`,
		"warmup":  `point\w+\s*=\s*"([a-z_]+)"`,
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			named := append(failpointsIn(t, filepath.Join("..", program), regexp.MustCompile(constant)), common[program]...)
			slices.Sort(named)
			known := failpointsKnownTo(t, filepath.Join(bin, program))
			if len(named) == 0 || !slices.Equal(named, known) {
				t.Errorf("the code of %s names %v, the program knows %v", program, named, known)
			}
		})
	}
}

// failpointsIn finds the constants that name failpoints in a module's code.
func failpointsIn(t *testing.T, dir string, constant *regexp.Regexp) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		for _, match := range constant.FindAllSubmatch(content, -1) {
			found = append(found, string(match[1]))
		}
		return err
	})
	must(t, err)
	slices.Sort(found)
	return found
}

// failpointsKnownTo asks a program for one that does not exist: it lists those that do.
func failpointsKnownTo(t *testing.T, program string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "load")
	if filepath.Base(program) != "warmup" {
		cmd.Args = cmd.Args[:1]
	}
	cmd.Env = append(os.Environ(), failpoint.Variable+"=nobody.knows=error",
		"SLUICE_JWT_HS256="+strings.Repeat("k", 32), "SLUICE_JWT_ISSUER=i", "SLUICE_JWT_AUDIENCE=a", "SLUICE_TICKET_KEY="+strings.Repeat("k", 32),
		"SLUICE_POSTGRES_URL=postgres://127.0.0.1:1/", "SLUICE_REDIS_URL=redis://127.0.0.1:1", "SLUICE_NATS_URL=nats://127.0.0.1:1")
	output, err := cmd.CombinedOutput()
	_, list, found := strings.Cut(string(output), "known are ")
	if err == nil || !found {
		t.Fatal(fmt.Errorf("%s does not say which failpoints it knows: %w\n%s", program, err, output))
	}
	known := strings.Split(strings.TrimSpace(strings.SplitN(list, "\n", 2)[0]), ", ")
	slices.Sort(known)
	return known
}
