package auth_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"sluice/shared/auth"
	"sluice/shared/sale"
)

func TestMerchantKey_IsKnownByWhatIsKept(t *testing.T) {
	t.Parallel()
	shown, kept := auth.NewMerchantKey("acme", []sale.Scope{sale.ScopeQuotes})
	other, _ := auth.NewMerchantKey("acme", nil)
	if shown == other {
		t.Fatal("two keys are the same")
	}
	key, err := auth.ParseMerchantKey(shown)
	if err != nil || key.ID != kept.ID || !key.Is(kept) {
		t.Errorf("%s is read as %s, %v", shown, key.ID, err)
	}
	if strings.Contains(shown, string(kept.Hash[:])) || kept.Hash == sha256.Sum256([]byte(shown)) {
		t.Error("the hash is not of the secret alone")
	}
	stranger, err := auth.ParseMerchantKey(other)
	if err != nil || stranger.Is(kept) {
		t.Errorf("another key passes: %v", err)
	}
	mixed, err := auth.ParseMerchantKey(shown[:20] + other[20:]) // the id of one, the secret of another
	if err != nil || mixed.ID != kept.ID || mixed.Is(kept) {
		t.Errorf("another secret passes: %v", err)
	}
	kept.RevokedAt = time.Unix(1, 0)
	if key.Is(kept) {
		t.Error("a revoked key passes")
	}
	if (auth.ShownKey{}).Is(sale.MerchantKey{}) {
		t.Error("nothing passes for nothing")
	}
}

func FuzzMerchantKey(f *testing.F) {
	shown, _ := auth.NewMerchantKey("acme", nil)
	for _, seed := range []string{
		"sk_" + strings.Repeat("0", 16) + "_" + strings.Repeat("0", 64), shown, shown[1:], shown + "0", strings.ToUpper(shown), " " + shown, shown + "\n",
		"", "sk_", "sk__", "sk_" + shown, strings.ReplaceAll(shown, "_", "-"), strings.Replace(shown, "sk", "pk", 1), strings.Repeat("0", 16) + "_" + strings.Repeat("0", 64),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := auth.ParseMerchantKey(text)
		wellFormed := len(text) == 84 && text[:3] == "sk_" && text[19] == '_' && strings.Trim(text[3:19]+text[20:], "0123456789abcdef") == ""
		if (err == nil) != wellFormed || wellFormed && key.ID != text[3:19] {
			t.Errorf("%q: %q, %v", text, key.ID, err)
		}
		if _, kept := auth.NewMerchantKey("acme", nil); key.Is(kept) {
			t.Errorf("%q passes for a key that was drawn after it", text)
		}
	})
}
