package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"time"
)

// The parts of SPDX 2.3 that a bill of Go modules needs: https://spdx.github.io/spdx-spec/v2.3/
type (
	spdxDocument struct {
		Version       string             `json:"spdxVersion"`
		License       string             `json:"dataLicense"`
		ID            string             `json:"SPDXID"`
		Name          string             `json:"name"`
		Namespace     string             `json:"documentNamespace"`
		Creation      spdxCreation       `json:"creationInfo"`
		Packages      []spdxPackage      `json:"packages"`
		Relationships []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID        string         `json:"SPDXID"`
		Name      string         `json:"name"`
		Version   string         `json:"versionInfo"`
		Location  string         `json:"downloadLocation"`
		Analysed  bool           `json:"filesAnalyzed"`
		Concluded string         `json:"licenseConcluded"`
		Declared  string         `json:"licenseDeclared"`
		Copyright string         `json:"copyrightText"`
		Checksums []spdxChecksum `json:"checksums,omitempty"`
		Refs      []spdxRef      `json:"externalRefs,omitempty"`
	}
	spdxChecksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxRef struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelationship struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

const noAssertion = "NOASSERTION"

// A part is a program of a release: its name, what it says it was linked from, and its checksum.
type part struct {
	name  string
	build build
	sum   string
}

func partOf(name, path string) (part, error) {
	b, err := readBuild(path)
	if err != nil {
		return part{}, err
	}
	sum, err := sha256Of(path)
	return part{name, b, sum}, err
}

// writeBill writes what programs were linked from, as the programs themselves say.
func writeBill(path, name string, parts []part) error {
	text, err := json.MarshalIndent(billOf(name, parts), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// billOf makes the document of some programs; its namespace is that of the first one.
func billOf(name string, parts []part) spdxDocument {
	d := spdxDocument{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		Namespace: "urn:sm:spdx:" + name + ":" + parts[0].sum,
		Creation:  spdxCreation{parts[0].build.time.Format(time.RFC3339), []string{"Tool: sm-release"}},
	}
	known := map[string]bool{}
	for _, p := range parts {
		program := spdxPackage{
			ID: spdxID(p.name), Name: p.name, Version: p.build.version, Location: noAssertion, Concluded: "Apache-2.0", Declared: "Apache-2.0",
			Copyright: noAssertion, Checksums: []spdxChecksum{{"SHA256", p.sum}},
		}
		d.Packages = append(d.Packages, program)
		d.Relationships = append(d.Relationships, spdxRelationship{d.ID, "DESCRIBES", program.ID})
		std := &debug.Module{Path: "stdlib", Version: p.build.goVer}
		for _, m := range append([]*debug.Module{std}, p.build.deps...) {
			if m.Replace != nil {
				m = m.Replace
			}
			module := moduleOf(m)
			if !known[module.ID] {
				known[module.ID] = true
				d.Packages = append(d.Packages, module)
			}
			d.Relationships = append(d.Relationships, spdxRelationship{program.ID, "DEPENDS_ON", module.ID})
		}
	}
	return d
}

func moduleOf(m *debug.Module) spdxPackage {
	return spdxPackage{
		ID: spdxID(m.Path + "-" + m.Version), Name: m.Path, Version: m.Version, Location: noAssertion, Concluded: noAssertion,
		Declared: noAssertion, Copyright: noAssertion,
		Refs: []spdxRef{{"PACKAGE-MANAGER", "purl", fmt.Sprintf("pkg:golang/%s@%s", m.Path, m.Version)}},
	}
}

// spdxID makes a name that SPDX allows: letters, digits, dot and hyphen.
func spdxID(s string) string {
	return "SPDXRef-" + regexp.MustCompile(`[^A-Za-z0-9.-]`).ReplaceAllString(s, "-")
}
