// What Prometheus thinks of the metrics, the dashboard and the alert rules: its own linter, parser and engine, for the
// tests.
//
//	promcheck lint SCRAPE                       what promlint finds in a scrape
//	promcheck queries SCRAPE RULES DASHBOARD    parses every expression, and looks its metrics and labels up in the scrape
//	promcheck alerts RULES SCRAPES              evaluates the rules on scrapes named SECONDS.prom; prints what fires when
//
// Problems are printed one a line, and the exit code is 1 then.
package main

import (
	"fmt"
	"os"
)

func main() {
	problems, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for _, problem := range problems {
		fmt.Println(problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

func run(args []string) ([]string, error) {
	switch {
	case len(args) == 2 && args[0] == "lint":
		return lint(args[1])
	case len(args) == 4 && args[0] == "queries":
		return checkQueries(args[1], args[2], args[3])
	case len(args) == 3 && args[0] == "alerts":
		return nil, printAlerts(args[1], args[2])
	}
	return nil, fmt.Errorf("usage: promcheck lint SCRAPE | queries SCRAPE RULES DASHBOARD | alerts RULES SCRAPES")
}
