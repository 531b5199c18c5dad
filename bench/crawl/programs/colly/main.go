// A crawler with colly that has the tasks of scrapy_spider.py; scripts/setup bench builds it where Go is.
//
// robots.txt obeyed, title, canonical, all links absolute and once each, body gzipped to disk, one JSON
// line a page: `colly URLS_FILE PORT FOLDER`. Prints one JSON line: pages, seconds and CPU seconds from
// the first request until the last page is written.
package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/gocolly/colly/v2"
)

const atOnce = 64

type page struct {
	URL       string   `json:"url"`
	Title     string   `json:"title"`
	Canonical string   `json:"canonical"`
	Links     []string `json:"links"`
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Utime.Sec+usage.Stime.Sec) + float64(usage.Utime.Usec+usage.Stime.Usec)/1e6
}

// Every name is this machine.
func dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+os.Args[2])
}

// The links of a page, absolute, each once, in the order of the page.
func links(e *colly.HTMLElement) []string {
	var targets []string
	seen := map[string]bool{}
	e.DOM.Find("a[href]").Each(func(_ int, a *goquery.Selection) {
		href, _ := a.Attr("href")
		target := e.Request.AbsoluteURL(href)
		if target != "" && !seen[target] {
			seen[target] = true
			targets = append(targets, target)
		}
	})
	return targets
}

// Write the body to a file of its own, compressed as Scrapy's side does.
func save(url string, body []byte) {
	key := sha256.Sum256([]byte(url))
	file, err := os.Create(filepath.Join(os.Args[3], hex.EncodeToString(key[:])+".gz"))
	must(err)
	packed, err := gzip.NewWriterLevel(file, 6)
	must(err)
	_, err = packed.Write(body)
	must(err)
	must(packed.Close())
	must(file.Close())
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	must(err)
	file, err := os.Create(filepath.Join(os.Args[3], "pages.jsonl"))
	must(err)
	out := bufio.NewWriter(file)
	lines := json.NewEncoder(out)
	var writing sync.Mutex
	pages := 0

	collector := colly.NewCollector(colly.UserAgent("bench (+http://127.0.0.1/)"))
	collector.IgnoreRobotsTxt = false
	collector.WithTransport(&http.Transport{DialContext: dial, MaxIdleConns: 512, MaxIdleConnsPerHost: 8})
	collector.OnHTML("html", func(e *colly.HTMLElement) {
		canonical, _ := e.DOM.Find("link[rel=canonical]").First().Attr("href")
		url := e.Request.URL.String()
		line := page{url, e.DOM.Find("title").First().Text(), canonical, links(e)}
		save(url, e.Response.Body)
		writing.Lock()
		defer writing.Unlock()
		must(lines.Encode(line))
		pages++
	})

	started, before := time.Now(), cpuSeconds()
	urls := make(chan string)
	var crawlers sync.WaitGroup
	for range atOnce {
		crawlers.Add(1)
		go func() {
			defer crawlers.Done()
			for url := range urls {
				must(collector.Visit(url))
			}
		}()
	}
	for _, url := range strings.Fields(string(text)) {
		urls <- url
	}
	close(urls)
	crawlers.Wait()
	must(out.Flush())
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"pages": pages, "seconds": time.Since(started).Seconds(), "cpu_s": cpuSeconds() - before,
	}))
}
