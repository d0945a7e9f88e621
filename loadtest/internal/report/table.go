package report

// Table is something that only people read: a comparison, or where a profile says that
// time went. What scripts need is in members of its own beside it.
type Table struct {
	Title string     `json:"title"`
	Text  string     `json:"text"` // what it shows, in words
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"` // the first cell of each names the row
}

func (t Table) section() section {
	return section{Title: t.Title, Desc: t.Text, Table: table{Head: t.Head, Rows: t.Rows}}
}
