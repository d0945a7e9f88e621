package service

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Variable is the environment variable that sets a flag: SLUICE_REDIS_URL for
// redis-url.
func Variable(flagName string) string {
	return "SLUICE_" + strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}

// Parse sets the flags of fs: the command line beats the environment, which
// beats the default; an empty variable counts as not set. Arguments that are no
// flags are refused. Errors wrap ErrUsage, have one line and name the flag and
// its variable; flag.ErrHelp is returned after the help was written to
// fs.Output.
func Parse(fs *flag.FlagSet, args []string, getenv func(string) string) error {
	rest, err := ParseOperands(fs, args, getenv)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return UsageErrorf("unexpected argument %q: flags begin with -", rest[0])
	}
	return nil
}

// ParseOperands is Parse for commands that take operands beside flags, in any
// order. It returns the operands.
func ParseOperands(fs *flag.FlagSet, args []string, getenv func(string) string) ([]string, error) {
	operands, err := parseArgs(fs, args)
	if errors.Is(err, flag.ErrHelp) {
		writeHelp(fs)
		return nil, err
	}
	if err != nil {
		return nil, UsageErrorf("%v", err)
	}
	return operands, overlay(fs, getenv)
}

// parseArgs lets flag.FlagSet parse without printing on its own.
func parseArgs(fs *flag.FlagSet, args []string) (operands []string, err error) {
	output, usage := fs.Output(), fs.Usage
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	restore := nameVariables(fs)
	defer func() {
		restore()
		fs.SetOutput(output)
		fs.Usage = usage
	}()
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		if args = fs.Args(); len(args) == 0 {
			return operands, nil
		}
		operands, args = append(operands, args[0]), args[1:]
	}
}

// overlay sets the flags that the command line did not from the environment.
func overlay(fs *flag.FlagSet, getenv func(string) string) error {
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var failed error
	fs.VisitAll(func(f *flag.Flag) {
		text := getenv(Variable(f.Name))
		if failed != nil || given[f.Name] || text == "" {
			return
		}
		if err := fs.Set(f.Name, text); err != nil {
			failed = UsageErrorf("invalid value %q in %s (flag -%s): %v", text, Variable(f.Name), f.Name, helpful(err, f.Value, text))
		}
	})
	return failed
}

// variableValue adds the variable's name to a flag's errors.
type variableValue struct {
	flag.Value
	variable string
}

func (v variableValue) Set(text string) error {
	if err := v.Value.Set(text); err != nil {
		return fmt.Errorf("%w (environment variable %s)", helpful(err, v.Value, text), v.variable)
	}
	return nil
}

// helpful says what to write where package flag, which does not export its error, says
// "parse error" alone.
func helpful(err error, value flag.Value, text string) error {
	getter, ok := value.(flag.Getter)
	if !ok || err.Error() != "parse error" {
		return err
	}
	switch getter.Get().(type) {
	case time.Duration:
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return fmt.Errorf("a duration has a unit: write %sms, %[1]ss or %[1]sm", text)
		}
		return errors.New("write a duration such as 100ms, 10s or 5m")
	case bool:
		return errors.New("write true or false")
	case float64:
		return errors.New("write a number")
	case uint, uint64:
		return errors.New("write a whole number, 0 or more")
	default:
		return errors.New("write a whole number")
	}
}

// IsBoolFlag lets a boolean flag stand without a value, as flag.Value asks.
func (v variableValue) IsBoolFlag() bool {
	b, ok := v.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

func nameVariables(fs *flag.FlagSet) (restore func()) {
	values := map[*flag.Flag]flag.Value{}
	fs.VisitAll(func(f *flag.Flag) {
		values[f] = f.Value
		f.Value = variableValue{f.Value, Variable(f.Name)}
	})
	return func() {
		for f, value := range values {
			f.Value = value
		}
	}
}

// writeHelp prints the set's own usage, which lists the flags, and what every
// set has in common.
func writeHelp(fs *flag.FlagSet) {
	fs.Usage()
	fmt.Fprintf(fs.Output(), "Each flag may be given by the environment instead: -some-flag is %s.\n"+
		"Secrets belong there: a command line is visible to every user of the machine.\n"+
		"The first word version, alone, prints which version of the program this is.\n", Variable("some-flag"))
}
