// Package browsertest drives a real headless Chromium in tests of pages: it notes what the
// page asks for and complains about, and takes screenshots for people to look at.
package browsertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is for what should take milliseconds, on a machine that is busy.
const patience = 60 * time.Second

// View is how large the window is, and what its owner likes.
type View struct {
	Width, Height int64
	Dark, Mobile  bool
}

// Views that pages are looked at in.
var (
	Desktop = View{Width: 1440, Height: 900}
	Phone   = View{Width: 360, Height: 740, Mobile: true}
)

// Hosts that are this machine, of two sites. Unlike 127.0.0.1 they are nothing special to
// a browser, which trusts loopback as if it had TLS.
const (
	Afar    = "afar.test"
	Another = "another.test"
)

// Tab is one page of a Chromium of its own.
type Tab struct {
	t   testing.TB
	ctx context.Context

	mu         sync.Mutex
	origins    map[string]bool
	expected   []string
	complaints []string
}

// Open starts a Chromium, which ends with the test. One that is missing fails the test.
func Open(t testing.TB, v View) *Tab {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a browser, and -short is set")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("host-resolver-rules", "MAP "+Afar+" 127.0.0.1, MAP "+Another+" 127.0.0.1"), chromedp.WSURLReadTimeout(patience))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's sandbox refuses root
	}
	ctx, closeBrowser := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(closeBrowser)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	return attach(ctx, t, v)
}

// NewTab opens one more tab of the same Chromium, of the same person.
func (b *Tab) NewTab(v View) *Tab {
	b.t.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx)
	b.t.Cleanup(closeTab)
	return attach(ctx, b.t, v)
}

func attach(ctx context.Context, t testing.TB, v View) *Tab {
	t.Helper()
	b := &Tab{t: t, ctx: ctx, origins: map[string]bool{}, expected: []string{"401"}} // a wrong token
	chromedp.ListenTarget(ctx, b.note)
	if err := chromedp.Run(ctx, network.Enable(), runtime.Enable(), log.Enable()); err != nil {
		t.Fatalf("cannot run Chromium; 'make setup' installs it: %v", err)
	}
	b.Show(v)
	return b
}

// Expect has the tab say nothing of requests that fail with one of these, such as "503"
// or "ERR_CONNECTION_REFUSED".
func (b *Tab) Expect(failures ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, failures...)
}

// Show changes the window.
func (b *Tab) Show(v View) {
	b.t.Helper()
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	size := emulation.SetDeviceMetricsOverride(v.Width, v.Height, 1, v.Mobile)
	b.Do(size, emulation.SetTouchEmulationEnabled(v.Mobile), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}))
}

// note remembers where the page sends requests, and what it complains about.
func (b *Tab) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err != nil || u.Scheme != "data" {
			b.origins[u.Scheme+"://"+u.Host] = true
		}
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			b.complaints = append(b.complaints, fmt.Sprintf("console.%s", e.Type))
		}
	case *log.EventEntryAdded: // of the browser itself, such as a violated policy
		expected := func(failure string) bool { return strings.Contains(e.Entry.Text, failure) }
		if e.Entry.Level == log.LevelError && (e.Entry.Source != log.SourceNetwork || !slices.ContainsFunc(b.expected, expected)) {
			b.complaints = append(b.complaints, e.Entry.Text)
		}
	}
}

// WantQuiet fails the test if any request went elsewhere than to origin, or if the page
// complained of anything.
func (b *Tab) WantQuiet(origin string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if got := slices.Collect(maps.Keys(b.origins)); !slices.Equal(got, []string{origin}) {
		b.t.Errorf("requests went to %q, want %q alone", got, origin)
	}
	if len(b.complaints) > 0 {
		b.t.Errorf("the page complained: %q", b.complaints)
	}
}

// Do takes actions, in order.
func (b *Tab) Do(actions ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// Press presses a key that writes a character, and tells the page in one event, as a
// keyboard does: a page that takes the key for itself keeps it from being written.
func (b *Tab) Press(key string) {
	b.t.Helper()
	b.Do(input.DispatchKeyEvent(input.KeyDown).WithKey(key).WithText(key), input.DispatchKeyEvent(input.KeyUp).WithKey(key))
}

// Text is what an expression says, which must be a string.
func (b *Tab) Text(expression string) (value string) {
	b.t.Helper()
	b.Do(chromedp.Evaluate(expression, &value))
	return value
}

// True is what an expression says, which must be a boolean.
func (b *Tab) True(expression string) (value bool) {
	b.t.Helper()
	b.Do(chromedp.Evaluate(expression, &value))
	return value
}

// Await waits until an expression is true.
func (b *Tab) Await(what, expression string) {
	b.t.Helper()
	tried := "(() => { try { return !!(" + expression + ") } catch { return false } })()" // between two pages there is no document
	for deadline := time.Now().Add(patience); !b.isSo(tried); {
		if time.Now().After(deadline) {
			b.Picture("failed/" + strings.ReplaceAll(b.t.Name(), "/", "-"))
			b.t.Fatalf("not within %v: %s: %s", patience, what, expression)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// isSo is what an expression says. Between two pages it is false: one that is asked while
// its page goes away is broken off.
func (b *Tab) isSo(expression string) (value bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	err := chromedp.Run(ctx, chromedp.Evaluate(expression, &value))
	var gone *cdproto.Error
	if err != nil && (!errors.As(err, &gone) || gone.Code != pageIsGone) {
		b.t.Fatal(err)
	}
	return value
}

// pageIsGone is what the browser answers to whoever asks a page that goes away meanwhile.
const pageIsGone = -32000

// Picture writes a screenshot of the window: "console/calm" is out/console/calm.png of
// the repository.
func (b *Tab) Picture(name string) {
	b.t.Helper()
	b.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		png, err := page.CaptureScreenshot().Do(ctx)
		if err != nil {
			return err
		}
		root, err := repository()
		if err != nil {
			return err
		}
		file := filepath.Join(root, "out", filepath.FromSlash(name)+".png")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, png, 0o644)
	}))
}

// repository is where go.work is.
func repository() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "go.work")); missing == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			err = os.ErrNotExist
		}
	}
	return "", fmt.Errorf("cannot find the repository: %w", err)
}
