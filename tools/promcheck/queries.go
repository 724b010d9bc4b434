package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// An expression, and where it stands.
type query struct {
	place string
	text  string
}

// Labels that Prometheus adds to what a broker serves.
var added = map[string]bool{"job": true, "instance": true, "le": true}

// Labels whose values can't all be in a scrape.
var open = map[string]bool{"error": true}

// Parses every expression of the rules and the dashboard, and looks its metrics, labels and the values of labels that it
// compares up in a scrape.
func checkQueries(scrape, rules, dashboard string) ([]string, error) {
	families, err := readScrape(scrape)
	if err != nil {
		return nil, err
	}
	samples, err := samplesOf(families, 0)
	if err != nil {
		return nil, err
	}
	all, problems := queriesOf(rules)
	plotted, err := plottedBy(dashboard)
	if err != nil {
		return nil, err
	}
	for _, query := range append(all, plotted...) {
		expr, err := parser.ParseExpr(query.text)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v in %s", query.place, err, query.text))
			continue
		}
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			switch node := node.(type) {
			case *parser.VectorSelector:
				problems = append(problems, missing(query, node, samples)...)
			case *parser.AggregateExpr:
				for _, label := range node.Grouping {
					if !isKnown(label, selectors(node.Expr), samples) {
						problems = append(problems, fmt.Sprintf("%s: no series has the label %s in %s", query.place, label, query.text))
					}
				}
			}
			return nil
		})
	}
	return problems, nil
}

// The rules' expressions, and what is wrong with the file.
func queriesOf(path string) ([]query, []string) {
	groups, errs := rulefmt.ParseFile(path, false, model.LegacyValidation)
	var all []query
	var problems []string
	for _, err := range errs {
		problems = append(problems, err.Error())
	}
	if groups == nil {
		return nil, problems
	}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			all = append(all, query{place: "rule " + rule.Alert + rule.Record, text: rule.Expr})
		}
	}
	return all, problems
}

// The dashboard's expressions. Its variables are replaced as Grafana does.
func plottedBy(path string) ([]query, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct{ List []struct{ Name string } }
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		return nil, err
	}
	variables := regexp.MustCompile(`\$[a-z_]+`)
	var all []query
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			text := strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
			all = append(all, query{place: "panel " + panel.Title, text: variables.ReplaceAllString(text, ".*")})
		}
	}
	return all, nil
}

// What a selector names and the scrape doesn't have.
func missing(query query, selector *parser.VectorSelector, samples model.Vector) []string {
	var problems []string
	named := false
	for _, sample := range samples {
		named = named || string(sample.Metric[model.MetricNameLabel]) == selector.Name
	}
	if !named {
		return []string{fmt.Sprintf("%s: no metric %s", query.place, selector.Name)}
	}
	for _, matcher := range selector.LabelMatchers {
		if matcher.Name == model.MetricNameLabel || added[matcher.Name] {
			continue
		}
		found := false
		for _, sample := range samples {
			value, has := sample.Metric[model.LabelName(matcher.Name)]
			found = found || has && string(sample.Metric[model.MetricNameLabel]) == selector.Name &&
				(open[matcher.Name] || matcher.Matches(string(value)))
		}
		if !found {
			problems = append(problems, fmt.Sprintf("%s: no series of %s has %s", query.place, selector.Name, matcher))
		}
	}
	return problems
}

// The metrics that an expression reads.
func selectors(expr parser.Expr) map[string]bool {
	names := map[string]bool{}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if selector, is := node.(*parser.VectorSelector); is {
			names[selector.Name] = true
		}
		return nil
	})
	return names
}

// Whether series of these metrics have this label.
func isKnown(label string, names map[string]bool, samples model.Vector) bool {
	if added[label] {
		return true
	}
	for _, sample := range samples {
		if _, has := sample.Metric[model.LabelName(label)]; has && names[string(sample.Metric[model.MetricNameLabel])] {
			return true
		}
	}
	return false
}
