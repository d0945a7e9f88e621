package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/shared/service"
)

// root is the directory of docker-compose.yml.
const root = ".."

// programs is the directory of the real programs.
func programs(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("asks the programs")
	}
	bin := os.Getenv("SLUICE_BIN")
	if bin == "" {
		t.Fatal("SLUICE_BIN is not set: run 'make test', or 'make build' and set it to bin")
	}
	return bin
}

// settings are what the programs take at all beside their flags.
var settings = []string{"GOMEMLIMIT"}

// wantTaken wants a program to take a command line such as [/warmup doctor -require single]
// and each of the variables as one of its flags.
func wantTaken(t *testing.T, where string, command []string, variables []string) {
	t.Helper()
	name, absolute := strings.CutPrefix(command[0], "/")
	if !absolute || !slices.Contains([]string{"gateway", "worker", "warmup"}, name) {
		t.Errorf("%s: %s is no program of the image", where, command[0])
		return
	}
	help, err := exec.CommandContext(t.Context(), filepath.Join(programs(t), name), append(slices.Clone(command[1:]), "-h")...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v is not taken: %v\n%s", where, command, err, help)
		return
	}
	for _, variable := range variables {
		if !slices.Contains(settings, variable) && !takes(string(help), variable) {
			t.Errorf("%s: %v does not take %s", where, command, variable)
		}
	}
}

// takes reports whether one of the flags in the help is set by the variable.
func takes(help, variable string) bool {
	for line := range strings.Lines(help) {
		name, isFlag := strings.CutPrefix(line, "  -")
		name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
		if isFlag && service.Variable(name) == variable {
			return true
		}
	}
	return false
}

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// variablesOf are the lines NAME=VALUE of a file, as engines and kubectl read it.
func variablesOf(t *testing.T, path ...string) map[string]string {
	t.Helper()
	variables := map[string]string{}
	for line := range strings.Lines(readFile(t, path...)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Fatalf("%v: %q is no variable", path, line)
		}
		variables[name] = value
	}
	return variables
}
