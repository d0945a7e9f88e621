package deploy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	autoscaling "k8s.io/api/autoscaling/v2"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// scaledObject is what the tests read of a KEDA ScaledObject.
type scaledObject struct {
	Metadata meta.ObjectMeta
	Spec     struct {
		ScaleTargetRef                   struct{ Kind, Name string }
		MinReplicaCount, MaxReplicaCount int
		Fallback                         struct{ Replicas int }
		Triggers                         []struct {
			Type     string
			Metadata map[string]string
		}
	}
}

// readScaledObject holds a ScaledObject against the Go types in the sources of the KEDA that
// go.mod names. They are read, not compiled: their package needs all of client-go, three
// times what the other tests do. With the build tag keda, as in make long, it is.
func readScaledObject(t *testing.T, text []byte) *scaledObject {
	t.Helper()
	var found map[string]any
	if err := yaml.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	var wrong []string
	if kedaTypes(t).check(&wrong, "ScaledObject", found, ast.NewIdent("ScaledObject")); len(wrong) > 0 {
		t.Errorf("no ScaledObject of KEDA's: %v", wrong)
	}
	var read scaledObject
	if err := yaml.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return &read
}

// structs are types by their names.
type structs map[string]*ast.StructType

// kedaTypes reads the types of KEDA's v1alpha1.
func kedaTypes(t *testing.T) structs {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/kedacore/keda/v2")
	list.Env = append(list.Environ(), "GOWORK=off")
	dir, err := list.Output()
	if err != nil {
		t.Fatalf("cannot find KEDA's sources: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "apis", "keda", "v1alpha1", "*_types.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("KEDA's sources in %s have no types: %v", dir, err)
	}
	all := structs{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					all[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	return all
}

// foreign are the types of Kubernetes that KEDA's refer to, where we use them.
func foreign() map[string]any {
	return map[string]any{
		"ObjectMeta": &meta.ObjectMeta{}, "HorizontalPodAutoscalerBehavior": &autoscaling.HorizontalPodAutoscalerBehavior{},
		"MetricTargetType": new(autoscaling.MetricTargetType),
	}
}

// check adds what is wrong of a value that should be of a type, such as a field that the type
// lacks.
func (all structs) check(wrong *[]string, where string, value any, of ast.Expr) {
	switch of := of.(type) {
	case *ast.StarExpr:
		all.check(wrong, where, value, of.X)
	case *ast.ArrayType:
		list, ok := value.([]any)
		for _, one := range list {
			all.check(wrong, where+"[]", one, of.Elt)
		}
		all.want(wrong, where, ok, of)
	case *ast.MapType:
		object, ok := value.(map[string]any)
		for key, one := range object {
			all.check(wrong, where+"."+key, one, of.Value)
		}
		all.want(wrong, where, ok, of)
	case *ast.SelectorExpr:
		text, err := yaml.Marshal(value)
		into := foreign()[of.Sel.Name]
		if err != nil || into == nil || decodeStrictly(text, into) != nil {
			*wrong = append(*wrong, fmt.Sprintf("%s is no %s: %v", where, of.Sel.Name, value))
		}
	case *ast.Ident:
		if s, ok := all[of.Name]; ok {
			all.checkFields(wrong, where, value, s)
			return
		}
		switch of.Name {
		case "string":
			_, ok := value.(string)
			all.want(wrong, where, ok, of)
		case "bool":
			_, ok := value.(bool)
			all.want(wrong, where, ok, of)
		case "int32", "int64":
			n, ok := value.(float64)
			all.want(wrong, where, ok && n == float64(int64(n)), of)
		default:
			_, ok := value.(string) // a named string, such as an enumeration
			all.want(wrong, where, ok, of)
		}
	default:
		*wrong = append(*wrong, fmt.Sprintf("%s: a type that is not known: %s", where, reflect.TypeOf(of)))
	}
}

func (all structs) want(wrong *[]string, where string, ok bool, of ast.Expr) {
	if !ok {
		*wrong = append(*wrong, fmt.Sprintf("%s is no %v", where, of))
	}
}

func (all structs) checkFields(wrong *[]string, where string, value any, s *ast.StructType) {
	object, ok := value.(map[string]any)
	if !ok {
		*wrong = append(*wrong, fmt.Sprintf("%s is no object", where))
		return
	}
	fields := map[string]ast.Expr{}
	for _, f := range s.Fields.List {
		if f.Tag == nil {
			continue
		}
		name, options, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		if name == "" && options == "inline" { // metav1.TypeMeta
			fields["apiVersion"], fields["kind"] = ast.NewIdent("string"), ast.NewIdent("string")
			continue
		}
		fields[name] = f.Type
	}
	for key, one := range object {
		of, ok := fields[key]
		if !ok {
			*wrong = append(*wrong, fmt.Sprintf("%s has no field %s", where, key))
			continue
		}
		all.check(wrong, where+"."+key, one, of)
	}
}

// The check itself finds what is wrong.
func TestKubernetes_ScalersOfUnknownShapeAreFound(t *testing.T) {
	t.Parallel()
	all := kedaTypes(t)
	for name, spec := range map[string]map[string]any{
		"unknown field":     {"maxReplicas": 4.0},
		"text for a number": {"maxReplicaCount": "4"},
		"part for a number": {"maxReplicaCount": 4.5},
		"number for text":   {"triggers": []any{map[string]any{"type": 1.0}}},
		"of Kubernetes":     {"advanced": map[string]any{"horizontalPodAutoscalerConfig": map[string]any{"behavior": map[string]any{"scaleup": 1.0}}}},
	} {
		var wrong []string
		if all.check(&wrong, "ScaledObject", map[string]any{"spec": spec}, ast.NewIdent("ScaledObject")); len(wrong) != 1 {
			t.Errorf("%s: found %q", name, wrong)
		}
	}
}
