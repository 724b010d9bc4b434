package main

import (
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// What promlint finds in a scrape, as `promtool check metrics` does.
func lint(path string) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	found, err := promlint.New(file).Lint()
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, problem := range found {
		problems = append(problems, fmt.Sprintf("%s: %s", problem.Metric, problem.Text))
	}
	return problems, nil
}
