package sale

// TitleLanguages are those that a sale's title may be given in, as BCP 47 names
// them; Sale.Title is in the first.
func TitleLanguages() []string { return []string{"en", "zh"} }

// TitleIn is the sale's title for whoever reads that language, which is one of
// TitleLanguages: a sale that has none in it has one title for all.
func (s Sale) TitleIn(language string) string {
	if title, ok := s.Titles[language]; ok {
		return title
	}
	return s.Title
}
