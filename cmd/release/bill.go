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

// writeBill writes what a program was linked from, as the program itself says.
func writeBill(path, name string, b build, program string) error {
	sum, err := sha256Of(program)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(billOf(name, b, sum), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// billOf makes the document of a program with this checksum.
func billOf(name string, b build, sum string) spdxDocument {
	sm := spdxPackage{
		ID: "SPDXRef-sm", Name: "sm", Version: b.version, Location: noAssertion, Concluded: "Apache-2.0", Declared: "Apache-2.0",
		Copyright: noAssertion, Checksums: []spdxChecksum{{"SHA256", sum}},
	}
	d := spdxDocument{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		Namespace:     "urn:sm:spdx:" + name + ":" + sum,
		Creation:      spdxCreation{b.time.Format(time.RFC3339), []string{"Tool: sm-release"}},
		Packages:      []spdxPackage{sm},
		Relationships: []spdxRelationship{{"SPDXRef-DOCUMENT", "DESCRIBES", sm.ID}},
	}
	std := &debug.Module{Path: "stdlib", Version: b.goVer}
	for _, m := range append([]*debug.Module{std}, b.deps...) {
		if m.Replace != nil {
			m = m.Replace
		}
		p := spdxPackage{
			ID: spdxID(m.Path + "-" + m.Version), Name: m.Path, Version: m.Version, Location: noAssertion, Concluded: noAssertion,
			Declared: noAssertion, Copyright: noAssertion,
			Refs: []spdxRef{{"PACKAGE-MANAGER", "purl", fmt.Sprintf("pkg:golang/%s@%s", m.Path, m.Version)}},
		}
		d.Packages = append(d.Packages, p)
		d.Relationships = append(d.Relationships, spdxRelationship{sm.ID, "DEPENDS_ON", p.ID})
	}
	return d
}

// spdxID makes a name that SPDX allows: letters, digits, dot and hyphen.
func spdxID(s string) string {
	return "SPDXRef-" + regexp.MustCompile(`[^A-Za-z0-9.-]`).ReplaceAllString(s, "-")
}
