package install

import (
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/deploy"
)

// TestPluginShipped tests that the plugin in the repository calls the sm in the PATH for the
// events of `sm install`.
func TestPluginShipped(t *testing.T) {
	t.Parallel()
	text, err := fs.ReadFile(deploy.Plugin(), deploy.PluginHooks)
	if err != nil {
		t.Fatal(err)
	}
	e := testEditor(t, "{\n  \"hooks\": {}\n}\n", "sm", "")
	e.setHooks(Claude().Events)
	if diff := cmp.Diff(string(e.Doc.Bytes), string(text)); diff != "" {
		t.Errorf("deploy/plugin/%s (-want +got):\n%s", deploy.PluginHooks, diff)
	}
}
