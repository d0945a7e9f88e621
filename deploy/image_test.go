package deploy

import (
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sluice/shared/devstack"
)

// instruction is one of a Dockerfile.
type instruction struct{ name, rest string }

// stages are the instructions of each FROM, continued lines joined.
func stages(t *testing.T) [][]instruction {
	t.Helper()
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(readFile(t, root, "Dockerfile"), "")
	text = strings.ReplaceAll(text, "\\\n", " ")
	var all [][]instruction
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "FROM" {
			all = append(all, nil)
		}
		if name != "" {
			all[len(all)-1] = append(all[len(all)-1], instruction{name, strings.TrimSpace(rest)})
		}
	}
	return all
}

func TestImage_IsPinnedHasNoShellAndNoRoot(t *testing.T) {
	t.Parallel()
	all := stages(t)
	if len(all) != 2 {
		t.Fatalf("%d stages", len(all))
	}
	build, final := all[0], all[1]
	if from := regexp.MustCompile(`^golang:\d+\.\d+\.\d+-bookworm AS build$`); !from.MatchString(build[0].rest) {
		t.Errorf("built from %s", build[0].rest)
	}
	if final[0].rest != "scratch" || !slices.ContainsFunc(final, func(i instruction) bool { return i == instruction{"USER", "65532:65532"} }) {
		t.Errorf("the image is %v", final)
	}
	for _, i := range final {
		if !slices.Contains([]string{"FROM", "COPY", "USER"}, i.name) || i.name == "COPY" && !strings.HasPrefix(i.rest, "--from=build ") {
			t.Errorf("%s %s in an image that has programs only", i.name, i.rest)
		}
	}
}

// Everything that is copied passes .dockerignore, and nothing else does.
func TestImage_IsGivenTheSourcesAlone(t *testing.T) {
	t.Parallel()
	var copied, let []string
	for _, i := range stages(t)[0] {
		if from, to, _ := strings.Cut(i.rest, " "); i.name == "COPY" {
			copied = append(copied, from)
			if info, err := os.Stat(filepath.Join(root, from)); err != nil || !info.IsDir() || from != to {
				t.Errorf("COPY %s: %v", i.rest, err)
			}
		}
	}
	lines := strings.Split(readFile(t, root, ".dockerignore"), "\n")
	for _, line := range lines {
		if name, ok := strings.CutPrefix(line, "!"); ok {
			let = append(let, name)
		}
	}
	slices.Sort(copied)
	slices.Sort(let)
	if !slices.Equal(copied, let) || !slices.Contains(lines, "*") {
		t.Errorf("copied are %v, let through %v", copied, let)
	}
}

// The first stage, run by hand in a copy of the sources: what it makes is static, and runs
// in a root that holds nothing else, as the image's user.
func TestImage_BuildsByHand(t *testing.T) {
	t.Parallel()
	if !devstack.Long() {
		t.Skip("builds three programs: SLUICE_LONG=1")
	}
	dir := t.TempDir()
	source, out := filepath.Join(dir, "src"), filepath.Join(dir, "out")
	for _, i := range stages(t)[0] {
		switch i.name {
		case "COPY":
			from, to, _ := strings.Cut(i.rest, " ")
			copySources(t, filepath.Join(root, from), filepath.Join(source, to))
		case "RUN":
			script := regexp.MustCompile(`--mount=\S+`).ReplaceAllString(i.rest, "")
			cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(script, "/out/", out+"/"))
			cmd.Dir, cmd.Env = source, append(os.Environ(), "VERSION=v0.0.0-test", "COMMIT=", "GOWORK=")
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("RUN %s: %v\n%s", script, err, text)
			}
		}
	}
	for _, program := range []string{"gateway", "worker", "warmup"} {
		wantStatic(t, filepath.Join(out, program))
		cmd := exec.CommandContext(t.Context(), "/"+program, "-h")
		cmd.Env = []string{}
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: out, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
			cmd.Dir = "/"
		} else {
			cmd.Path = filepath.Join(out, program)
		}
		if text, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(text), "Usage") {
			t.Errorf("%s -h: %v\n%s", program, err, text)
		}
	}
}

func wantStatic(t *testing.T, path string) {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if libraries, err := file.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("%s needs %v, %v", path, libraries, err)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			t.Errorf("%s needs an interpreter", path)
		}
	}
}

// copySources copies a directory as an engine is given it: without what .dockerignore
// leaves out below the directories.
func copySources(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "testdata" {
			return filepath.SkipDir
		}
		inside, err := filepath.Rel(from, path)
		if err != nil || strings.HasSuffix(path, "_test.go") {
			return err
		}
		target := filepath.Join(to, inside)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		return copyFile(path, target)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}
