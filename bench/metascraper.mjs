// The title, author and date that metascraper's rules give of pages, for bench.extraction.
//
//   node metascraper.mjs FOLDER < lines
//
// FOLDER has node_modules with metascraper, metascraper-title, metascraper-author and
// metascraper-date. A line of the input is [path, url, group]; each is answered by a line of JSON.
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { resolve } from 'node:path'

const require = createRequire(resolve(process.argv[2], 'package.json'))
const metascraper = require('metascraper')(
  ['title', 'author', 'date'].map(name => require(`metascraper-${name}`)())
)

for await (const line of createInterface({ input: process.stdin })) {
  const [path, url, group] = JSON.parse(line)
  let found = {}
  if (group.startsWith('news')) {
    try {
      found = await metascraper({ html: readFileSync(path, 'utf8'), url, validateUrl: false })
    } catch {}
  }
  const { title, author, date } = found
  console.log(JSON.stringify({ title, authors: author ? [author] : [], published_at: (date || '').slice(0, 10) }))
}
