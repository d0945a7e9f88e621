package salesfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"sluice/shared/coupon"
	"sluice/shared/sale"
)

// maxFileBytes is far above any sales file; more would be the wrong file.
const maxFileBytes = 1 << 20

// File is what a sales file says. It may have no sales, if it has templates.
type File struct {
	Templates []coupon.Rule
	Sales     []Sale
}

// Sale is a sale as the file has it. One of coupons has no currency, if the file does not
// say which: it is its template's.
type Sale struct {
	sale.Sale
	AllowList []string // user ids in the order of their file; none if the sale has no allow list
}

// Read reads a sales file and the allow lists it names. The error, of one line,
// names the file and the field.
func Read(path string) (*File, error) {
	data, err := readBounded(path, maxFileBytes)
	if err != nil {
		return nil, fmt.Errorf("cannot read sales file: %w", err)
	}
	f, err := Parse(data, func(name string) ([]string, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		return readAllowList(name)
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read sales file %s: %w", path, err)
	}
	return f, nil
}

func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s has %d bytes, at most %d are allowed", path, info.Size(), limit)
	}
	return os.ReadFile(path)
}

// Parse reads the text of a sales file. allowList returns the user ids that a
// sale's allow_list names.
func Parse(data []byte, allowList func(name string) ([]string, error)) (*File, error) {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, syntaxError(err)
	}
	root, err := singleDocument(file)
	if err != nil {
		return nil, err
	}
	fields, err := value{"", root}.fields()
	if err != nil {
		return nil, err
	}
	return readFile(fields, allowList)
}

func readFile(fields []field, allowList func(name string) ([]string, error)) (*File, error) {
	var read File
	var sales value
	for _, f := range fields {
		var err error
		switch f.name {
		case "sales":
			sales = f.value
			read.Sales, err = readSales(f.value, allowList)
		case "coupon_templates":
			read.Templates, err = readTemplates(f.value)
		default:
			err = f.errorf("unknown key; known are sales, coupon_templates")
		}
		if err != nil {
			return nil, err
		}
	}
	if len(read.Sales)+len(read.Templates) == 0 {
		return nil, errors.New("sales: is missing or empty")
	}
	if err := matchTemplates(sales, read); err != nil {
		return nil, err
	}
	return &read, nil
}

// syntaxError makes one line of the parser's error, which shows the source too.
func syntaxError(err error) error {
	var syntax *yaml.SyntaxError
	if !errors.As(err, &syntax) || syntax.Token == nil {
		return fmt.Errorf("syntax: %w", err)
	}
	return fmt.Errorf("line %d: %s", syntax.Token.Position.Line, syntax.Message)
}

func singleDocument(file *ast.File) (ast.Node, error) {
	var root ast.Node
	for _, document := range file.Docs {
		switch {
		case document.Body == nil:
		case root != nil:
			return nil, fmt.Errorf("a second document begins in line %d, only one is allowed", document.Body.GetToken().Position.Line)
		default:
			root = document.Body
		}
	}
	if root == nil {
		return nil, errors.New("sales: is missing: the file is empty")
	}
	return root, nil
}

func readSales(v value, allowList func(name string) ([]string, error)) ([]Sale, error) {
	items, err := v.list()
	if err != nil {
		return nil, err
	}
	sales := make([]Sale, len(items))
	first := map[string]string{} // path by id
	for i, item := range items {
		if sales[i], err = readSale(item, allowList); err != nil {
			return nil, err
		}
		id := sales[i].ID
		if other, taken := first[id]; taken {
			return nil, item.errorf("id %q is that of %s too", id, other)
		}
		first[id] = item.path
	}
	return sales, nil
}
