package main

import (
	"bufio"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"sluice/shared/service"
)

// loadCompose reads docker-compose.yml as an engine would, with the example's
// environment.
func loadCompose(t *testing.T) *types.Project {
	t.Helper()
	o, err := cli.NewProjectOptions([]string{filepath.Join("..", "docker-compose.yml")}, cli.WithEnv(exampleEnv(t)))
	if err != nil {
		t.Fatal(err)
	}
	project, err := o.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func exampleEnv(t *testing.T) []string {
	t.Helper()
	file, err := os.Open(filepath.Join("..", ".env.example"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var env []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "#") {
			env = append(env, line)
		}
	}
	return env
}

func TestCompose_IsValidAndItsFilesAreThere(t *testing.T) {
	t.Parallel()
	project := loadCompose(t)
	want := []string{"gateway-1", "gateway-2", "migrate", "nats", "postgres", "redis", "warmup", "worker"}
	if got := slices.Sorted(maps.Keys(project.Services)); !slices.Equal(got, want) {
		t.Errorf("services %v, want %v", got, want)
	}
	for name, s := range project.Services {
		for _, v := range s.Volumes {
			if _, err := os.Stat(v.Source); v.Type == types.VolumeTypeBind && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestCompose_ProgramsTakeTheEnvironmentTheyAreGiven(t *testing.T) {
	t.Parallel()
	bin := programs(t)
	for name, s := range loadCompose(t).Services {
		if s.Build == nil {
			continue
		}
		help, err := exec.Command(filepath.Join(bin, *s.Build.Args["PROGRAM"]), append(slices.Clone([]string(s.Command)), "-h")...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, help)
		}
		for variable := range s.Environment {
			if !strings.HasPrefix(variable, "SLUICE_") || s.Environment[variable] == nil {
				t.Errorf("%s: variable %s has no value or is not Sluice's", name, variable)
			}
			if !takes(string(help), variable) {
				t.Errorf("%s does not take %s", name, variable)
			}
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
