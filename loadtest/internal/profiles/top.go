package profiles

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Share is the part of a profile's CPU time that went to a function or a package.
type Share struct {
	Name string
	Part float64
}

// Top is where the time of one profile went, most first.
type Top struct {
	Seconds  float64 // of CPU time, all threads together
	Own      []Share // in the function itself
	Packages []Share // of Sluice and the libraries it calls, each with what it asked of the runtime and the kernel
}

// Read finds the n functions at the top of a CPU profile, of each kind.
func Read(path string, n int) (Top, error) {
	file, err := os.Open(path)
	if err != nil {
		return Top{}, fmt.Errorf("cannot read profile: %w", err)
	}
	defer file.Close() // it is only read
	p, err := profile.Parse(file)
	if err != nil {
		return Top{}, fmt.Errorf("cannot read profile %s: %w", path, err)
	}
	return top(p, n), nil
}

func top(p *profile.Profile, n int) Top {
	own, packages := make(map[string]int64), make(map[string]int64)
	var total int64
	value := len(p.SampleType) - 1 // CPU time; before it is the number of samples
	for _, s := range p.Sample {
		spent := s.Value[value]
		total += spent
		if names := stack(s); len(names) > 0 {
			own[names[0]] += spent
			packages[teller(names)] += spent
		}
	}
	return Top{Seconds: float64(total) / 1e9, Own: most(own, total, n), Packages: most(packages, total, n)}
}

// stack is the functions of a sample, the innermost first.
func stack(s *profile.Sample) []string {
	var names []string
	for _, location := range s.Location {
		for _, line := range location.Line {
			if line.Function != nil {
				names = append(names, line.Function.Name)
			}
		}
	}
	return names
}

// teller is the package of the innermost function that tells a reader what the time was
// for. Those of the runtime and of the standard library are called for everything: what
// they do for nobody, such as scheduling and collecting garbage, is told by the outermost
// function.
func teller(names []string) string {
	for _, name := range names {
		slash := strings.LastIndex(name, "/")
		if strings.HasPrefix(name, "sluice/") || slash >= 0 && strings.Contains(name[:slash], ".") {
			of, _, _ := strings.Cut(name[slash:], ".")
			return name[:slash] + of
		}
	}
	return names[len(names)-1]
}

func most(spent map[string]int64, total int64, n int) []Share {
	names := slices.SortedFunc(maps.Keys(spent), func(a, b string) int {
		return cmp.Or(cmp.Compare(spent[b], spent[a]), cmp.Compare(a, b))
	})
	shares := make([]Share, 0, n)
	for _, name := range names[:min(n, len(names))] {
		shares = append(shares, Share{Name: name, Part: float64(spent[name]) / float64(max(total, 1))})
	}
	return shares
}

// Words says it in a list of parts and names, in which a function has its package, and a
// package the directory that it is in.
func Words(shares []Share) string {
	all := make([]string, len(shares))
	for i, s := range shares {
		dir, name := filepath.Split(s.Name)
		if !strings.Contains(name, ".") {
			name = filepath.Join(filepath.Base(dir), name)
		}
		all[i] = fmt.Sprintf("%.0f %% %s", 100*s.Part, strings.ReplaceAll(name, "%2e", ".")) // as linkers write a dot
	}
	return strings.Join(all, ", ")
}
