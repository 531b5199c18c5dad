/**
 * aragog's services for programs in any language: UrlStore, Fetcher, PinLater and Zen.
 *
 * Protocol: strict binary protocol in frames (TFramedTransport). All services are on one port,
 * through TMultiplexedProtocol, under their names below. A client without multiplexing reaches
 * UrlStore. A connection handles one call at a time, in the order of its frames; further frames
 * wait. A request frame may have `serving.max_body_bytes` (4 MiB by default), a reply
 * 16,000,000 bytes.
 *
 * Units: every number has its unit in its name. Times are milliseconds since the epoch.
 * Strings are UTF-8. URLs may have any spelling. They are normalized, and calls follow
 * aliases to the canonical URL.
 *
 * Deadlines: `deadline_ms` limits one call, measured on the server from the arrival of its frame.
 * The default is `serving.deadline_ms` (1,000), or `serving.content_deadline_ms` (10,000) for
 * `content`, `remove`, `enqueue`, `explain` and all calls to PinLater. The default is also the maximum,
 * so a longer deadline is shortened. A call that misses its deadline ends with DeadlineExceeded; a write
 * may have happened.
 *
 * Retries: reads may be repeated, and so may `put`, `deleteFields`, `remove`, `addLinks`,
 * `removeLinks`, `watch` and `unwatch`. Only a repeated `put` with `if_version` may find its own
 * version (Conflict).
 */
namespace py aragog_urlstore
namespace go urlstore
namespace java org.aragog.urlstore

/** An argument is invalid; a retry cannot help. Nothing was written. */
exception BadInput {
  1: string message
  /** The error code, the same as over HTTP; docs/thrift.md lists all codes. */
  2: optional string code
}

/** Nothing is stored under this URL. */
exception NotFound {
  1: string message
  /** The error code, the same as over HTTP; docs/thrift.md lists all codes. */
  2: optional string code
}

/**
 * The version of a conditional write does not match, so read the record again, then retry. Or another
 * record (`url`) has this value of a unique property. Nothing was written.
 */
exception Conflict {
  1: string message
  /** For `conflict`: the record's version; empty if there is no record. */
  2: string found_version
  /** `conflict` or `value_taken`; older servers do not send it. */
  3: optional string code
  /** For `value_taken`: the URL of the record that has the value, or the id of a node that is not a page. */
  4: optional string url
  /** For `value_taken`: the property. */
  5: optional string property
}

/**
 * The connection has no token, an unknown one, or one without the scope that this call requires
 * (read, write or admin; admin includes the others), or only other tokens may write a field.
 * Nothing was done.
 */
exception Unauthorized {
  1: string message
  /** The error code, the same as over HTTP; docs/thrift.md lists all codes. */
  2: optional string code
}

/** The server is full or stopping, the token exceeds its rate or quota, or a component does not respond. */
exception Unavailable {
  1: string message
  /** How long to wait before the next attempt. */
  2: i64 retry_after_ms
  /** The error code, the same as over HTTP; docs/thrift.md lists all codes. */
  3: optional string code
  /** For the code over_quota: urls_a_day, waiting_urls or bytes_a_day, its maximum, and how much is used. */
  4: optional string limit
  5: optional i64 most
  6: optional i64 used
}

/** The call took longer than its deadline. A write may have happened. */
exception DeadlineExceeded {
  1: string message
  /** The error code, the same as over HTTP; docs/thrift.md lists all codes. */
  2: optional string code
}

/** Stored data is damaged, or the server has a bug; its log has the details. */
exception InternalError {
  1: string message
  /** The error code, the same as over HTTP; docs/thrift.md lists all codes. */
  2: optional string code
}

/** The URL was taken down, alone or with its host or domain. Its data is neither stored nor returned. */
exception TakenDown {
  1: string message
  /** The normalized URL. */
  2: string url
  /** The error code, the same as over HTTP; docs/thrift.md lists all codes. */
  3: optional string code
}

/** Options for calls without further options. */
struct CallOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
}

struct ReadOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Also return `facts`, `content_bytes`, `content_hash` and `due_at_ms`. Default: false. */
  2: optional bool facts
  /** Extras to return: `aliases`, `inlinks`, `fetch`; each costs about one more read. Default: none. */
  3: optional list<string> extras
  /** Return the page only if its site allows this purpose: search, ai-input, ai-train. Default: any. */
  4: optional string purpose
}

struct BatchReadOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** As in `ReadOptions`. */
  2: optional bool facts
  /** As in `ReadOptions`; other URLs are NOT_FOUND. */
  3: optional string purpose
}

struct Header {
  1: string name
  2: string value
}

/** One redirect. */
struct Hop {
  /** The URL that redirected. */
  1: string url
  2: i32 status
  /** Where it redirected to. */
  3: string target
  /** From sending the request to the end of the response's headers. */
  4: optional double latency_ms
  /** The response headers, in order, up to 4 KiB; cookies without their values. */
  5: list<Header> headers
}

/** The last fetch of one URL. A time is absent if there was nothing to measure. */
struct FetchReport {
  /** The URL that was requested. */
  1: string url
  /** Fetched, NotModified, Gone, Refused, Blocked, Busy, …: docs/fetching.md lists them. */
  2: string outcome
  3: i64 fetched_at_ms
  /** The URL of the last response. */
  4: string final_url
  /** The status of the last response; absent without a response. */
  5: optional i32 status
  /** Why there is no page. */
  6: optional string reason
  /** Number of attempts. */
  7: i32 attempts
  /** The headers of the last response, in order, up to 16 KiB; cookies without their values. */
  8: list<Header> headers
  /** The redirects, in order. */
  9: list<Hop> hops
  10: optional double dns_ms
  11: optional double connect_ms
  /** From sending the last request to the end of the response's headers. */
  12: optional double first_byte_ms
  /**
   * Duration of the fetch, including redirects and waits for their slots. If the slot of a redirect is
   * more than a second away, the fetch continues later and the measurement restarts.
   */
  13: double total_ms
  /** The IP address of the last server. */
  14: optional string address
  /** The TLS version; absent for plain HTTP. */
  15: optional string tls
  /** Size of the decoded body. */
  16: i64 body_bytes
  /** The body is incomplete, because of a limit or a connection that ended early. */
  17: bool truncated
  /** The content type of the last response, as sent. */
  18: optional string content_type
  /** "rendered", or why a browser did not render the page; absent if no rendering was requested. */
  19: optional string rendering
  /** The price in a 402 response, as sent, such as "USD 0.01". */
  20: optional string crawler_price
  /** What robots.txt states about uses of the page, one statement per line: "ai-train=n (robots.txt line 4, …)". */
  21: optional string robots_preferences
  /** What the page's headers and elements state about its uses, in the same form. */
  22: optional string page_preferences
  /** The HTTP version: "1.1" or "2". */
  23: optional string http_version
  /** What the next request is waiting for, or who forbids it; docs/fetching.md lists the causes. */
  24: optional string cause
  /** The name in egress.ways of the last request's egress route. Absent: direct. */
  25: optional string way
}

/** The stored data of one URL. */
struct Record {
  /** The requested URL, normalized. */
  1: string url
  /** The page's canonical URL, which is `url` itself unless that is an alias. */
  2: string canonical_url
  /** Field names and values, exactly as they were put. */
  3: map<string, binary> fields
  /** Changes with every write. For `PutOptions.if_version`. */
  4: string version
  /** Facts of the last fetch (docs/fetching.md), each value as JSON. Only with `facts`. */
  5: optional map<string, string> facts
  /** Size of the page's content before compression. Absent without content. Only with `facts`. */
  6: optional i64 content_bytes
  /** SHA-256 of the content as stored, in hex. Only with `facts`. */
  7: optional string content_hash
  /** When the URL is fetched again. Absent if never. Only with `facts`. */
  8: optional i64 due_at_ms
  /** Read from the standby store, whose data may be older. */
  9: optional bool from_standby
  /** Other URLs of the page, up to 1,000. Only if requested with `extras`, like the next two. */
  10: optional list<string> aliases
  /** How many links lead to the page. */
  11: optional i64 inlinks
  /** The last fetch; also absent if there was no fetch. */
  12: optional FetchReport fetch
}

/** Whether an item of a batch has a result, or why it has none. */
enum ItemStatus {
  OK = 0
  /** Nothing is stored under this URL. */
  NOT_FOUND = 1
  /** Not a URL. */
  BAD_INPUT = 2
  /** The reply is full. Request this URL in another call. */
  LEFT_OUT = 3
  /** The stored record is damaged. */
  DAMAGED = 4
  /** The URL was taken down. */
  TAKEN_DOWN = 5
}

/** One item of `getMany`. */
struct RecordResult {
  1: ItemStatus status
  /** Present if `status` is OK. */
  2: optional Record record
  /** Why there is no record. */
  3: optional string message
}

struct PutOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /**
   * When the values were true. A value never replaces a later one. Default: now. Must be at least 0,
   * and at most a minute ahead of the server's clock.
   */
  2: optional i64 at_ms
  /** Field names and where each value was found. */
  3: optional map<string, string> provenance
  /** Write only if the record has this version. Empty: only if there is no record. `*`: only if there is one. */
  4: optional string if_version
  /** Fields to delete in the same call, up to 1,000. */
  5: optional list<string> deleted
  /** Delete all other fields that the record had. Default: false. */
  6: optional bool replace
}

/** Options for a deletion. */
struct DeleteOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Delete only if the record has this version. `*`: only if there is a record. */
  2: optional string if_version
}

struct Link {
  /** Target of an outlink, source of an inlink. */
  1: string url
  /** Text of the link. */
  2: string text
  /** Values of the rel attribute, separated by spaces. */
  3: string rel
}

struct LinkPage {
  1: list<Link> links
  /** Continues the list. Absent if the list is complete. */
  2: optional string cursor
  /** Total number of links. Only with `count`. */
  3: optional i64 count
}

/** A field without its value. */
struct FieldSize {
  1: string name
  /** Size of the value. */
  2: i64 size_bytes
  /** When the field was set to this value, in ms since the epoch. */
  3: i64 at_ms
}

struct FieldSizePage {
  /** Sorted by name. */
  1: list<FieldSize> fields
  /** Continues the list. Absent if the list is complete. */
  2: optional string cursor
}

/** A page with the same body as another page, or nearly the same text. */
struct SamePage {
  /** Its canonical URL. */
  1: string url
  /** True if the bodies are the same. */
  2: bool is_identical
  /** How many of the 64 bits of the fingerprints differ. Absent if one of the texts is too short. */
  3: optional i32 distance
}

struct SamePages {
  /** In no particular order. */
  1: list<SamePage> pages
  /** Continues the list. Absent if the list is complete. */
  2: optional string cursor
}

struct SameContentOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Also return pages whose fingerprints (page.fingerprint) differ in at most this many of 64 bits, 0 to 3. Default: only pages with the same body. */
  2: optional i32 within
  /** Return only pages whose sites allow this purpose: search, ai-input, ai-train. Default: any. */
  3: optional string purpose
}

struct OutlinksOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Return only links on pages whose sites allow this purpose: search, ai-input, ai-train. Default: any. */
  2: optional string purpose
}

struct InlinksOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Also return the total number of links. Default: false. */
  2: optional bool count
  /** As in `OutlinksOptions`, for the pages that contain the links. */
  3: optional string purpose
}

struct ContentOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** The first byte to return. Default: 0. */
  2: optional i64 offset_bytes
  /** Maximum number of bytes to return; default and maximum: 15,000,000. */
  3: optional i64 limit_bytes
  /** `original` (default): as fetched; `text` or `markdown`: the page's main text in that format, in UTF-8. */
  4: optional string form
  /** As in `ReadOptions`. */
  5: optional string purpose
  /** Return the version that was current at this time, if it was kept. Only with the form `original`. Default: the current version. */
  6: optional i64 at_ms
}

/** The content of a page as fetched, without its content encoding, or its main text. */
struct Content {
  /** The canonical URL under which it is stored. */
  1: string url
  /** The requested part. */
  2: binary body
  /** Size of the whole content. */
  3: i64 total_bytes
  /** Response headers and facts of the fetch. */
  4: map<string, string> meta
}

struct HistoryOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** As in `ReadOptions`. */
  2: optional string purpose
}

struct PastValue {
  1: binary value
  /** When the field was set to this value. */
  2: i64 at_ms
}

struct ChangesOptions {
  /** Return changes after this cursor. Default: from the oldest one; `now`: only new ones. */
  1: optional string cursor
  /** 1 to 1,000; a higher value counts as 1,000. Default: 100. */
  2: optional i32 limit
  /** Only pages that this owner watches. */
  3: optional string owner
  /** Only pages of this host. */
  4: optional string host
  /** How long to wait for a change; at most 30,000. Default: 0. */
  5: optional i32 wait_ms
  /** As in `ReadOptions`. Changes to other pages have no fields. */
  6: optional string purpose
  /** Only changes to items of this kind. */
  7: optional string items
  /** Only changes to the item with this key. Needs `items`. */
  8: optional string key
}

/** One item, as shown on the most recently fetched page that has it. */
struct ItemRecord {
  1: string kind
  /** The item's key, which is unique within its kind, or empty if it has none. */
  2: string key
  /** Field names and values, each as JSON; decimals and dates are strings. */
  3: map<string, string> values
  /** The canonical URL of the page. */
  4: string page_url
  /** When the page was fetched. */
  5: i64 fetched_at_ms
}

struct ItemPage {
  /** In no particular order. */
  1: list<ItemRecord> items
  /** Continues the list. Absent if the list is complete. */
  2: optional string cursor
}

/** The values of an item from `at_ms` on. */
struct PastItem {
  1: i64 at_ms
  /** Field names and values, each as JSON. Absent if no page had the item. */
  2: optional map<string, string> values
}

struct ItemsOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Only the item with this key. */
  2: optional string key
  /** Return only items of pages whose sites allow this purpose: search, ai-input, ai-train. Default: any. */
  3: optional string purpose
}

struct ItemHistoryOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** As in `ItemsOptions`. */
  2: optional string purpose
}

/** A field's old and new value, as stored. Each is absent if there was none, or if it is too long. */
struct ValueChange {
  1: optional string before
  2: optional string now
}

/** The differences between the stored page and a new fetch. */
struct Change {
  /** The canonical URL. */
  1: string url
  /** When the page was fetched. */
  2: i64 at_ms
  /** new, changed, content, withheld, redirected, gone, back, given_up, withdrawn or reserved. */
  3: string kind
  4: map<string, ValueChange> fields
  /** The owners that watched the page at that time. */
  5: list<string> owners
  /** Continues after this change. */
  6: string cursor
  /** The content's hash before and after; absent if unchanged. */
  7: optional ValueChange content_hash
  /** Where the URL leads now. */
  8: optional string redirected_to
}

struct ChangePage {
  1: list<Change> changes
  /** Continues after these changes. */
  2: optional string cursor
}

/** What to take down. Exactly one of url, host and domain is set. */
struct TakedownOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** A page with its aliases or, for an alias on another host, only the alias. */
  2: optional string url
  /** All URLs of a host, on any port. */
  3: optional string host
  /** All URLs of a domain and its subdomains. */
  4: optional string domain
}

struct TakedownEntry {
  /** host, domain or url. */
  1: string kind
  2: string name
}

struct TakedownPage {
  1: list<TakedownEntry> takedowns
  /** Continues the list. Absent if the list is complete. */
  2: optional string cursor
}

struct TokenView {
  /** The token's name. Absent if the server requires no tokens. */
  1: optional string name
  /** read, write, admin; admin includes the others. */
  2: list<string> scopes
  /** Requests per second across all processes of the server. Absent if unlimited. */
  3: optional double rate
}

/** Calls that every service supports. */
service Session {
  /** Return at once. */
  void ping(),

  /**
   * Use this token for all later calls on this connection, to all services. A server on loopback may
   * require no token.
   */
  void authenticate(1: string token) throws (4: Unauthorized unauthorized),
}

/** Metadata, links and content of URLs. Reads require scope read, writes scope write. */
service UrlStore extends Session {
  /**
   * Return a URL's record. NotFound if there is none.
   *
   * fields: which fields to return, up to 1,000; empty for all.
   */
  Record get(1: string url, 2: list<string> fields, 3: ReadOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Return the records of up to 1,000 URLs, one result each, in order. `fields` as in `get`. */
  list<RecordResult> getMany(1: list<string> urls, 2: list<string> fields, 3: BatchReadOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Set up to 1,000 fields, keep the others, and return the new version. */
  string put(1: string url, 2: map<string, binary> fields, 3: PutOptions options) throws (
    1: BadInput bad_input, 3: Conflict conflict, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Delete fields, ignoring those that the record does not have, and return the new version. */
  string deleteFields(1: string url, 2: list<string> names, 3: DeleteOptions options) throws (
    1: BadInput bad_input, 3: Conflict conflict, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Remove the page, its links and its content. A later fetch restores them. */
  void remove(1: string url, 2: DeleteOptions options) throws (
    1: BadInput bad_input, 3: Conflict conflict, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** List the page's links in document order. `limit` is 1 to 1,000 (a higher value counts as 1,000). An empty `cursor` starts the list. */
  LinkPage outlinks(1: string url, 2: i32 limit, 3: string cursor, 4: OutlinksOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** List links to the page and to its aliases. New links appear after the next compaction. */
  LinkPage inlinks(1: string url, 2: i32 limit, 3: string cursor, 4: InlinksOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Add up to 1,000 outlinks, replacing links to the same targets. */
  void addLinks(1: string url, 2: list<Link> links, 3: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Remove the outlinks to up to 1,000 targets. Targets that the page does not link to are ignored. */
  void removeLinks(1: string url, 2: list<string> targets, 3: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Count the links that `inlinks` lists. This reads stored counts, so the cost is constant. */
  i64 countInlinks(1: string url, 2: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Return the page's content, or a part of it. NotFound if there is none. */
  Content content(1: string url, 2: ContentOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** List the page's URLs other than the canonical one. */
  list<string> aliases(1: string url, 2: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Return earlier values of a field in `store.history`, newest first. */
  list<PastValue> history(1: string url, 2: string field, 3: HistoryOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** List a record's fields with their sizes, even if the record is too large to read as a whole. */
  FieldSizePage fieldSizes(1: string url, 2: i32 limit, 3: string cursor, 4: CallOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** List the host's other pages with the same body or, if requested, with nearly the same text. */
  SamePages sameContent(1: string url, 2: i32 limit, 3: string cursor, 4: SameContentOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * List a kind's items. `host` is the host whose extraction rules define the kind, or a subdomain. An item
   * that several pages show is returned once. A part of the list may exceed `limit` if its items have no key.
   */
  ItemPage items(1: string kind, 2: string host, 3: i32 limit, 4: string cursor, 5: ItemsOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Return earlier versions of an item on the pages that have it now, newest first, as far back as the history
   * of the field `items.KIND` goes (`store.history`).
   */
  list<PastItem> itemHistory(1: string kind, 2: string host, 3: string key, 4: ItemHistoryOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Keep the URL's page fresh for `owner` (1 to 200 bytes). The call itself fetches nothing. */
  void watch(1: string url, 2: string owner, 3: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** End an owner's watch. A page without watches is kept but no longer refreshed. */
  void unwatch(1: string url, 2: string owner, 3: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** List the owners that watch the URL's page, sorted. */
  list<string> watchers(1: string url, 2: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Return changes that refetches found. Each is returned at least once. A page of the feed may be
   * empty even if more changes follow its cursor.
   */
  ChangePage changes(1: ChangesOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Delete and block a URL, or all URLs of a host or domain. Returns how many URLs lost data.
   * Scope admin. The deletion continues after the deadline, and the call may be repeated until it returns.
   */
  i64 takeDown(1: TakedownOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Unblock a URL, host or domain. Deleted data is not restored. Returns false if the target was not
   * taken down. Scope admin.
   */
  bool liftTakedown(1: TakedownOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** List everything that was taken down. `limit` and `cursor` are as in `outlinks`. Scope admin. */
  TakedownPage takedowns(1: i32 limit, 2: string cursor, 3: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Return the permissions of this connection's token. Every token may call this. */
  TokenView tokenView(1: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),
}

struct EnqueueOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** 0 (most urgent) to 9. Default: 5. */
  2: optional i32 priority
  /** Do not fetch before this time. Default: now. */
  3: optional i64 run_after_ms
  /** Link hops to follow from each URL, within its registered domain; 0 to 100. Default: 0. */
  4: optional i32 depth
  /** Also fetch URLs that are already stored. Default: false. */
  5: optional bool refresh
  /** The URLs are sitemaps; enqueue the URLs that they list. Default: false. */
  6: optional bool sitemap
  /** Identifies this call in the logs of all stages; up to 64 printable characters. Default: a new id. */
  7: optional string request_id
  /** Follow only links that match one of these, up to 50; `*` matches any characters. */
  8: optional list<string> include_patterns
  /** Do not follow links that match one of these, up to 50. */
  9: optional list<string> exclude_patterns
  /** Add the URLs to the batch of an earlier call. Default: a new batch. */
  10: optional string batch
  /** The caller's span (W3C Trace Context), which the URLs' traces continue. */
  11: optional string traceparent
  /** The crawl that the URLs belong to, which must have been started. */
  12: optional string crawl
}

/** The result of enqueuing one URL. */
struct EnqueueResult {
  /** The URL as passed to the call. */
  1: string input
  /** accepted, already waiting, invalid, taken down, out of scope or over budget (docs/client.md#enqueue-urls). */
  2: string status
  /** The URL, normalized. Absent if it is invalid. */
  3: optional string url
  /** Why it was not enqueued. */
  4: optional string reason
  /** The batch of this call, for `batch`; absent if the server has no batches. */
  5: optional string batch
}

/** The unfinished URLs of one domain. */
struct DomainProgress {
  1: string domain
  2: i64 in_flight
  /** The domain's current rate, in requests/s. */
  3: double qps
  4: i64 finish_at_ms
}

/** The progress of a batch of enqueued URLs. */
struct BatchProgress {
  1: string batch
  2: i64 total
  /** URLs that were stored or given up on. */
  3: i64 done
  4: i64 in_flight
  /** An estimate based on the domains' slots and rates. Absent if the batch is finished. */
  5: optional i64 estimated_finish_at_ms
  /** The domains that are expected to finish last. */
  6: list<DomainProgress> slowest
}

struct FetchOptions {
  /** How long to wait for the fetch; 0 to 60,000. Default: 10,000. The reply is sent by then. */
  1: optional i32 max_wait_ms
  /** Do not fetch a page that was confirmed within this time. Default: 0 (always fetch). */
  2: optional i64 max_age_ms
  /** Fields to return in the record, up to 1,000. Default: all. */
  3: optional list<string> fields
  /** Also return the page's content, up to 15,000,000 bytes. Default: false. */
  4: optional bool content
  /**
   * Identifies the fetch in the logs of all stages, if this call starts it; up to 64 printable
   * characters. Default: a new id.
   */
  5: optional string request_id
  /** Maximum ages of individual fields. */
  6: optional map<string, i64> field_max_age_ms
  /** As in `EnqueueOptions`. */
  7: optional string traceparent
  /** As in `ReadOptions`. Other pages have neither record nor content nor report. */
  8: optional string purpose
}

struct FreshOptions {
  /** Fetch the page first if it was confirmed longer ago than this. Default: only if it is unknown. */
  1: optional i64 max_age_ms
  /** Maximum ages of individual fields. */
  2: optional map<string, i64> field_max_age_ms
  /** How long to wait for the fetch; 0 to 60,000. Default: 0. */
  3: optional i32 max_wait_ms
  /** As in `FetchOptions`. */
  4: optional list<string> fields
  /** As in `ReadOptions`. */
  5: optional list<string> extras
  /** As in `ReadOptions`. */
  6: optional string purpose
  /** As in `FetchOptions`. */
  7: optional string request_id
  /** As in `EnqueueOptions`. */
  8: optional string traceparent
}

/** How the age of the stored page compares to `max_age_ms`. */
enum FetchState {
  /** Not older than requested, or just fetched. */
  FRESH = 0
  /** Older than requested, because the fetch was not done in time, or failed. */
  STALE = 1
  /** No page is stored. `report` states why the last fetch failed, if there was one. */
  ABSENT = 2
}

struct FetchAnswer {
  /** The requested URL, normalized. */
  1: string url
  2: FetchState state
  /** The stored data; absent if there is none. */
  3: optional Record record
  /** Time since a fetch or a 304 last confirmed the page. Absent if that never happened. */
  4: optional i64 age_ms
  /** The fetch continues, so a later call may return more. */
  5: bool fetching
  /** Why the URL is not fetched, or why its last fetch returned no page. */
  6: optional string reason
  /** The last fetch. Absent if there was none, or if it is an extra of `record`. */
  7: optional FetchReport report
  /** Only with `content`. */
  8: optional Content content
  /** Fields of `field_max_age_ms` that are older than requested. */
  9: optional list<string> stale_fields
}

/** One known fact about a URL. It may contain untrusted text. */
struct ExplanationLine {
  1: string name
  2: string text
  /** Its source or age; may be empty. */
  3: string note
}

/** The facts about a URL from one component of the system. */
struct ExplanationSection {
  1: string title
  2: list<ExplanationLine> lines
  /** Why the section is incomplete. Absent if it is complete. */
  3: optional string problem
}

/** Everything that is known about one URL. */
struct Explanation {
  /** The URL as passed to the call. */
  1: string input
  /** The normalized URL. */
  2: string url
  3: list<ExplanationSection> sections
}

/** A crawl, with the outcomes of its URLs (docs/crawls.md). */
struct CrawlView {
  1: string name
  /** running, done, paused, cancelled or ended. */
  2: string state
  3: string reason
  4: i64 enqueued
  5: i64 waiting
  /** URLs that were enqueued again after their pages had been stored for the crawl. */
  6: i64 repeated
  7: i64 bytes
  /** Number of URLs by outcome, including stored and cancelled. */
  8: map<string, i64> outcomes
  9: list<string> scope
  10: i32 depth
  11: bool nofollow
  12: i32 priority
  /** Absent if the settings apply. */
  13: optional string purposes
  14: optional i64 max_urls
  15: optional i64 max_urls_per_host
  16: optional i64 max_bytes
  17: optional i64 until_ms
  18: optional double rate
  /** The name of the token that started the crawl. */
  19: string token
  20: i64 created_at_ms
  21: i64 changed_at_ms
  /** Time between two rounds; absent or 0 if the crawl runs once. */
  22: optional i64 every_s
  /** How often the schedule has restarted the crawl, and when it will do so next (0 without a schedule). */
  23: i64 round
  24: i64 next_round_ms
  /** URL to notify when the crawl is done or ends; empty: none. */
  25: string notify
  26: optional double notify_error_rate
  /**
   * How many stored pages were `unchanged`, or a `duplicate` of another canonical URL, and how many links
   * were not enqueued. `trap` links lead into link traps and were dropped. `held` links may still be
   * followed.
   */
  27: map<string, i64> notes
  /** Share of a domain's slots relative to other crawls of the same token. */
  28: double weight
  /** How many hosts to fetch from at the same time; absent or 0: no limit. */
  29: optional i64 max_open_hosts
}

struct CrawlDomain {
  1: string domain
  2: map<string, i64> outcomes
}

struct CrawlHour {
  1: i64 at_ms
  2: map<string, i64> outcomes
}

/** URLs of a domain that were not stored. */
struct CrawlFailure {
  1: string domain
  2: string outcome
  3: i64 urls
  /** How many of them failed since midnight UTC, and how many on the previous day. */
  4: i64 today
  5: i64 yesterday
}

/** A domain with pending URLs of a crawl. */
struct CrawlOpenDomain {
  1: string domain
  2: i64 waiting
  /** Requests per second for this crawl. */
  3: double rate
  /** Absent if no requests are sent now. */
  4: optional double seconds_left
  5: string held_by
  6: bool robots_unreachable
  /** How many of its URLs per second the crawl has requested since it was started. */
  7: optional double achieved_rate
}

/** A URL template whose links are not followed (docs/crawls.md). */
struct ClosedTemplate {
  1: string host
  2: string template
  3: string reason
}

struct CrawlReport {
  1: CrawlView crawl
  /** The domains with the most URLs, up to 1,000. */
  2: list<CrawlDomain> domains
  /** The last 90 days by hour. */
  3: list<CrawlHour> hours
  /** Failures by reason, the most frequent first, up to 1,000. */
  4: list<CrawlFailure> failures
  /** Domains with pending URLs, the slowest first, up to 1,000. */
  5: list<CrawlOpenDomain> open
  6: i64 open_domains
  /** Estimated time until the last open domain is finished, at its current rate. */
  7: optional double seconds_left
  /** Templates of link traps on the crawl's hosts, up to 1,000. Links that match them are not followed. */
  8: optional list<ClosedTemplate> traps
  /** How many URLs per second the crawl has requested since it was started. */
  9: optional double achieved_rate
  /** How many URLs per second it has requested since the beginning of the previous hour (UTC). */
  10: optional double recent_rate
}

/** Options of a crawl. Absent options keep their values. */
struct CrawlOptions {
  /** As in the other options. */
  1: optional i32 deadline_ms
  /**
   * Rules that URLs must match: host:, domain:, prefix: or pattern: and a value. type: and language: are
   * rules for the content type and language of pages. A leading - excludes matches.
   */
  2: optional list<string> scope
  3: optional i32 depth
  /** Follow links that are marked nofollow. */
  4: optional bool nofollow
  5: optional i32 priority
  6: optional list<string> purposes
  7: optional i64 max_urls
  8: optional i64 max_urls_per_host
  9: optional i64 max_bytes
  10: optional i64 until_ms
  /** Maximum requests per second to a domain; the domain's own rate limit still applies. */
  11: optional double rate
  /** Time between two rounds from the seeds, with conditional requests; 0: stop repeating. */
  12: optional i64 every_s
  /** URL to notify when the crawl is done or ends, signed like webhooks; empty: none. */
  13: optional string notify
  /** The secret for these signatures; it is never returned. */
  14: optional string notify_secret
  /** Also notify when this share of a day's URLs has failed. */
  15: optional double notify_error_rate
  /** Share of a domain's slots relative to other crawls of the same token. Default: 1. */
  16: optional double weight
  /** How many hosts to fetch from at the same time; 0: no limit. */
  17: optional i64 max_open_hosts
}

struct ScopeOptions {
  1: optional i32 deadline_ms
  /** The page that links to the URL. */
  2: optional string page_url
}

struct ScopeDecision {
  1: bool accepted
  /** The deciding rule. */
  2: string rule
}

struct DeletedCrawl {
  /** Number of pages deleted. */
  1: i64 deleted
  /** Number of pages kept, by reason. */
  2: map<string, i64> kept
}

struct CancelOptions {
  1: optional i32 deadline_ms
  2: optional list<string> urls
  3: optional list<string> hosts
  4: optional list<string> domains
  /** Patterns for whole normalized URLs; * matches any characters. */
  5: optional list<string> patterns
  /** Only count the matching queued URLs. */
  6: optional bool dry_run
}

/** One of a host's URL templates (docs/crawls.md). */
struct HostTemplate {
  1: string template
  /** open, closed or "on trial". */
  2: string state
  /** Who decided: operator or learned. */
  3: string by
  /** Pages with results. */
  4: i64 brought
  /** Pages without results. */
  5: i64 nothing
  /** Why it is closed, if that was learned. */
  6: string reason
}

/** A host's URL templates. */
struct HostTemplates {
  1: string host
  /** About how many links are waiting for a decision. */
  2: i64 held
  /** Links that were not followed. */
  3: i64 left_out
  /** Closed templates first. */
  4: list<HostTemplate> templates
}

struct CancelAnswer {
  /** In a dry run, the number of matching queued URLs. */
  1: optional i64 waiting
}

/** Fetches URLs politely: robots.txt, rate limits and address filters apply. Scope write. */
service Fetcher extends Session {
  /**
   * Fetch a URL now, at the highest priority, and return the stored data after the fetch or when the
   * time is up. Concurrent callers share one fetch, which continues even if they stop waiting.
   */
  FetchAnswer fetch(1: string url, 2: FetchOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Return a URL's record, and fetch the page first if it is unknown or too old. Without a wait, the
   * page is fetched for later readers.
   */
  FetchAnswer getFresh(1: string url, 2: FreshOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Enqueue up to 1,000 URLs. Returns a result for each, in order. */
  list<EnqueueResult> enqueue(1: list<string> urls, 2: EnqueueOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Explain everything that is known about a URL, by component, and what the URL is waiting for. This
   * only reads. Scope read.
   */
  Explanation explain(1: string url, 2: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Return the progress of a batch; NotFound if it is unknown or older than three days. Scope read. */
  BatchProgress batch(1: string batch, 2: CallOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),
  /**
   * Start a crawl, or change and continue the crawl with this name. A token may change the crawls that
   * it started; admin may change all. Scope write.
   */
  CrawlView startCrawl(1: string name, 2: CrawlOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** List all crawls. Scope read. */
  list<CrawlView> listCrawls(1: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Return a crawl with the outcomes of its URLs. Scope read. */
  CrawlView getCrawl(1: string name, 2: CallOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Report on a crawl's outcomes by domain and by hour, its failures, what delays it, and the time left. Scope read. */
  CrawlReport crawlReport(1: string name, 2: CallOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Set a crawl's state: `paused`, `running` (to resume it) or `cancelled`. Scope write. */
  CrawlView setCrawlState(1: string name, 2: string state, 3: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Decide whether a URL belongs to a crawl, and return the deciding rule. Scope read. */
  ScopeDecision tryScope(1: string name, 2: string url, 3: ScopeOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Cancel a crawl, delete the pages that belong only to it, and forget the crawl. A token may delete the
   * crawls that it started; admin may delete all. Scope write.
   */
  DeletedCrawl deleteCrawl(1: string name, 2: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Cancel queued URLs, no matter who enqueued them. Stored pages are kept. Scope admin. */
  CancelAnswer cancelUrls(1: CancelOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** List a host's URL templates. Those whose links are not followed come first. Scope read. */
  HostTemplates listTemplates(1: string host, 2: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Follow all links that match a template (open) or none (closed), or revoke an earlier decision (learned). Scope admin. */
  HostTemplates decideTemplate(1: string host, 2: string template, 3: string state, 4: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),
}

/** A job to enqueue. */
struct NewJob {
  /** Opaque bytes; workers receive them unchanged. Up to 1,000,000 bytes. */
  1: binary body
  /** 0 (most urgent) to 9. Default: 5. */
  2: optional i32 priority
  /** How long to delay the first delivery. Default: 0; maximum: one year. */
  3: optional i64 delay_ms
  /** How many attempts the job gets before it is FAILED. Default: the queue's setting (10). */
  4: optional i32 max_attempts
  /** While a job with this key is queued or running, another one is rejected. */
  5: optional string unique_key
  /** The job type, which tells workers how to handle the body; may be absent if the queue has only one. */
  6: optional string name
  /** The media type of the body. Default: application/octet-stream. */
  7: optional string content_type
}

struct EnqueuedJob {
  1: string job_id
  /** True if the unique key was in use. Then nothing was added, and the id is that of the existing job. */
  2: bool already_there
}

struct DequeueOptions {
  /** 1 or more; does not include the time of `wait_ms`. */
  1: optional i32 deadline_ms
  /** How long the claims last without `extend`; 1,000 to 86,400,000. Default: 60,000. */
  2: optional i64 claim_ms
  /** Name of the worker; only shown to operators. */
  3: optional string worker
  /**
   * How long to wait for a job if none is due; 0 to 60,000. Default: 0. At most
   * `serving.max_waiting` callers per process may wait; others get an immediate reply.
   */
  4: optional i32 wait_ms
}

/** A job that belongs to the caller until its claim expires. */
struct ClaimedJob {
  1: string job_id
  /** Identifies this delivery; `ack`, `nack` and `extend` require it. */
  2: i64 claim_token
  /** 1 for the first delivery. */
  3: i32 attempt
  4: binary body
  /** The content type that the producer gave for the body. */
  5: string content_type
  /** The job type; empty if the producer gave none. */
  6: string name
}

/** A claim returned by `dequeue`. */
struct JobClaim {
  /** The job's id, which includes its queue; BadInput for a job of another queue. */
  1: string job_id
  2: i64 claim_token
  /** For `nack`: the number of the failed attempt, which determines the delay. Default: 1. */
  3: optional i32 attempt
}

struct NackOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Why the jobs failed; only shown to operators. */
  2: optional string reason
  /** Deliver again after this time, 0 to one year. Default: as the queue's retry policy says. */
  3: optional i64 delay_ms
  /** Mark the jobs as FAILED; they are not delivered again. Default: false. */
  4: optional bool fail
}

struct ListJobsOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** PENDING, RUNNING, SUCCEEDED or FAILED. Default: FAILED. */
  2: optional string state
  /** 1 to 1,000. Default: 100. */
  3: optional i32 limit
}

struct RetryJobsOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Up to 1,000. Default: all FAILED jobs. */
  2: optional list<string> job_ids
}

struct DeleteJobsOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** PENDING, SUCCEEDED or FAILED. Default: FAILED. */
  2: optional string state
  /** Up to 1,000. Default: all jobs in the state. */
  3: optional list<string> job_ids
}

/** A job in a list. */
struct KeptJob {
  1: string job_id
  2: string state
  /** PENDING: when it is due; RUNNING: when its claim expires; otherwise: when it ended. */
  3: i64 at_ms
  /** The job type. */
  4: string name
  5: i32 priority
  6: i64 created_at_ms
  7: i32 attempts
  8: string unique_key
  9: string worker
  /** Why its last attempt failed. */
  10: string problem
  /** Empty if it has SUCCEEDED. */
  11: binary body
  12: string content_type
}

/** A queue's job counts by state, its rate, and its retry policy. */
struct QueueState {
  1: string queue
  2: bool paused
  /** Maximum jobs per second across all workers. Absent if unlimited. */
  3: optional double rate
  /** PENDING jobs that are due. */
  4: i64 due
  /** PENDING jobs that are not yet due. */
  5: i64 later
  6: i64 running
  /** SUCCEEDED jobs that are still remembered. */
  7: i64 succeeded
  /** FAILED jobs that are still kept. */
  8: i64 failed
  /** Time since the oldest due job became due; 0 if none is due. */
  9: i64 oldest_due_ms
  10: i32 max_attempts
  11: i32 linear_attempts
  12: i64 retry_step_ms
  13: double retry_growth
  14: i64 retry_cap_ms
  15: i64 max_age_ms
  /** Servers that did not respond; their jobs are missing from the numbers. */
  16: list<string> missing_shards
}

/** Settings to change. Absent ones stay unchanged. */
struct QueueSettings {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** If true, no jobs are delivered; new ones are still accepted. */
  2: optional bool paused
  /** Jobs per second across all workers; 0: no limit. */
  3: optional double rate
  /** A complete retry policy: pinlater (ten retries, five linear, then exponential), once, or default. */
  4: optional string retry_policy
  /** Set the retry policy of this job type only. */
  5: optional string job_type
  /** How many attempts a job gets before it is FAILED; 1 to 1,000. */
  6: optional i32 max_attempts
  /** After how many failures the delay grows by a step; 0 to 1,000. */
  7: optional i32 linear_attempts
  /** The delay before the second attempt; 0 to one year. */
  8: optional i64 retry_step_ms
  /** Factor by which later delays grow; 1 to 10. */
  9: optional double retry_growth
  /** The longest delay; 0 to one year. */
  10: optional i64 retry_cap_ms
  /** A job is FAILED if its next attempt would be later than this after it was enqueued; 0: no limit. */
  11: optional i64 max_age_ms
}

/**
 * Jobs that wait on the server until they are due. Scope write, unless a call states another. A queue
 * created by a client is open to HTTP and Thrift. A Celery app's queue is open to the doors listed in its
 * job types. The crawler's queues are closed to all (Unauthorized).
 *
 * Jobs are delivered at least once. A job whose claim expires is delivered again.
 */
service PinLater extends Session {
  /** Add up to 1,000 jobs. After an error, some of them may have been added. */
  list<EnqueuedJob> enqueue(1: string queue, 2: list<NewJob> jobs, 3: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /**
   * Claim up to `limit` (1 to 200) due jobs, with the most urgent first. Returns as soon as there are
   * any. The list is empty if no job was due within `wait_ms`, or the server is stopping. A client
   * that disconnects while it is waiting claims nothing.
   */
  list<ClaimedJob> dequeue(1: string queue, 2: i32 limit, 3: DequeueOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** Acknowledge finished jobs. Returns false for each job whose claim the caller had lost. */
  list<bool> ack(1: string queue, 2: list<JobClaim> claims, 3: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** Report failed jobs, to be retried later or marked FAILED. Returns false for each lost claim. */
  list<bool> nack(1: string queue, 2: list<JobClaim> claims, 3: NackOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** Extend claims to `claim_ms` (1,000 to 86,400,000) from now. Returns false for each lost claim. */
  list<bool> extend(1: string queue, 2: list<JobClaim> claims, 3: i64 claim_ms, 4: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** List the queues that are open to Thrift, sorted. Scope read. */
  list<string> queues(1: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** Return a queue's state. NotFound if there is no such queue. Scope read. */
  QueueState state(1: string queue, 2: CallOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** List jobs in a state, waiting jobs by due time, and ended jobs with the latest first. */
  list<KeptJob> jobs(1: string queue, 2: ListJobsOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** Run FAILED jobs again with all their attempts, and return how many are PENDING again. */
  i32 retryFailed(1: string queue, 2: RetryJobsOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** Delete waiting or ended jobs, and return how many were deleted. */
  i32 remove(1: string queue, 2: DeleteJobsOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** Pause a queue, limit its rate, or change its retry policy, and return its new state. Scope admin. */
  QueueState configure(1: string queue, 2: QueueSettings options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),
}

struct GraphNode {
  /** The node's id: 32 hexadecimal digits. */
  1: string node
  2: map<string, binary> properties
}

struct NodePage {
  1: list<string> nodes
  /** Continues the list. Absent if the list is complete. */
  2: optional string cursor
}

struct GraphOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** A graph in `store.graphs`. Default: the graph of the store. */
  2: optional string graph
}

struct ReadGraphOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** A graph in `store.graphs`. Default: the graph of the store. */
  2: optional string graph
  /** As in `ReadOptions`, for page nodes. Ignored with `graph`. */
  3: optional string purpose
}

struct ScannedNodes {
  1: list<GraphNode> nodes
  /** Continues the list. Absent if the list is complete. */
  2: optional string cursor
}

/** One change to a graph. */
struct GraphMutation {
  /** put_node, remove_node, put_edge or remove_edge. */
  1: required string kind
  2: required string node
  /** The edge type, 16 to 65,535. */
  3: optional i32 type
  /** The node at the other end of an edge. */
  4: optional string other
  /** The score, for put_edge. Default: 0. */
  5: optional i64 score
  /** Up to 1,000. */
  6: optional map<string, binary> properties
  /** Sorts edges with the same score, for types in `store.graph_ordered`; up to 500 bytes. */
  7: optional binary order
}

/** An edge, seen from one of its ends. */
struct GraphEdge {
  /** The id of the node at the other end. */
  1: string node
  2: i64 score
  3: map<string, binary> properties
  /** Sorts edges with the same score. Absent if the edge has no order. */
  4: optional binary order
}

struct EdgePage {
  1: list<GraphEdge> edges
  /** Continues the list. Absent if the list is complete. */
  2: optional string cursor
}

struct PutEdgeOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** The edges of a node are sorted by score. Default: 0. */
  2: optional i64 score
  3: optional map<string, binary> properties
  /** A graph in `store.graphs`. Default: the graph of the store. */
  4: optional string graph
  /** Sorts edges with the same score; only for types in `store.graph_ordered`; up to 500 bytes. */
  5: optional binary order
}

struct RemoveEdgeOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** The edge's score; ignored with `graph`. Default: 0. */
  2: optional i64 score
  /** A graph in `store.graphs`. Default: the graph of the store. */
  3: optional string graph
}

struct GetEdgeOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** The edge's score; ignored with `graph`. Default: 0. */
  2: optional i64 score
  /** A graph in `store.graphs`. Default: the graph of the store. */
  3: optional string graph
}

struct EdgesOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Highest score first; ignored for type 0. Default: false. */
  2: optional bool reverse
  /** Only edges within these score bounds. */
  3: optional i64 least_score
  4: optional i64 most_score
  /** A graph in `store.graphs`. Default: the graph of the store. */
  5: optional string graph
  /** As in `OutlinksOptions`; only for type 0. */
  6: optional string purpose
}

struct TakeEdgesOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** The lowest scores are the best. Default: false (the highest). */
  2: optional bool lowest
  /** Identifies this request, up to 200 bytes. Repeating it within a day returns the same edges. */
  3: optional string request_id
}

struct TrimEdgesOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** The lowest scores are the best. Default: false (the highest). */
  2: optional bool lowest
}

struct EdgesByPrefixOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** The score of the edges. Default: 0. */
  2: optional i64 score
  /** Highest order first. Default: false. */
  3: optional bool reverse
}

struct PropertyPage {
  1: map<string, binary> properties
  /** Continues the list. Absent if the list is complete. */
  2: optional string cursor
}

/**
 * The store's graph, and graphs of applications. A node is identified by its id, 32 hexadecimal digits, or
 * by a URL for its page's node. Properties of pages are fields, which only UrlStore writes. Edge types below
 * 16 belong to the store: 0 for page links, 1 for aliases, 2 for watches. Reads require scope read, writes
 * scope write. With `graph`, calls use an application's graph, which has its own tables, and require
 * `read@graph` or `write@graph`. Nodes may then also have names of up to 200 bytes.
 */
service Zen extends Session {
  /** Return a node's properties, up to 1,000 by name, or all if no names are given. NotFound if there is no such node. */
  GraphNode getNode(1: string node, 2: list<string> properties, 3: ReadGraphOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Return up to 1,000 nodes of a graph, in order, without those that do not exist. `properties` as in `getNode`. */
  list<GraphNode> getNodes(1: string graph, 2: list<string> nodes, 3: list<string> properties, 4: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** List all nodes of a graph, sorted by id. `limit` and `cursor` are as in `outlinks`, `properties` as in `getNode`. */
  ScannedNodes scanNodes(1: string graph, 2: i32 limit, 3: string cursor, 4: list<string> properties, 5: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Set up to 1,000 properties of an application's node, creating the node if needed. */
  void putNode(1: string node, 2: map<string, binary> properties, 3: GraphOptions options) throws (
    1: BadInput bad_input, 3: Conflict conflict, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Remove an application's node with its edges in both directions. In a graph, one call removes up to
   * 10,000 edges. For a node with more, it raises Unavailable, and the call must be repeated.
   */
  void removeNode(1: string node, 2: GraphOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** List the nodes that have a value of a property in `store.indexed`. `limit` and `cursor` are as in `outlinks`. */
  NodePage lookup(1: string name, 2: binary value, 3: i32 limit, 4: string cursor, 5: ReadGraphOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Return the node that has a value of a property in `store.unique`. NotFound if none has it. `properties` is as in `getNode`. */
  GraphNode lookupUnique(1: string name, 2: binary value, 3: list<string> properties, 4: ReadGraphOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Set an edge with a type from 16 to 65,535. In a graph, a node has at most one edge of each type to
   * another node, and setting another score moves it. In the store's graph, edges with different scores are
   * different edges.
   */
  void putEdge(1: string node, 2: i32 type, 3: string other, 4: PutEdgeOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Remove an edge with a type from 16 to 65,535, if there is one. */
  void removeEdge(1: string node, 2: i32 type, 3: string other, 4: RemoveEdgeOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Return the edge between two nodes, with a type of 1 or more. NotFound if there is none. */
  GraphEdge getEdge(1: string node, 2: i32 type, 3: string other, 4: GetEdgeOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** List a node's edges by score; `direction` is out or in. Edges of type 0 have url, text and rel. */
  EdgePage edges(1: string node, 2: i32 type, 3: string direction, 4: i32 limit, 5: string cursor, 6: EdgesOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Count a node's edges of one type. The counts of type 0 and of types in `store.graph_counted` are stored; others are counted one by one. */
  i64 countEdges(1: string node, 2: i32 type, 3: string direction, 4: GraphOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Make up to 1,000 changes to a graph, in order. The whole call is safe to repeat. It is not atomic, so
   * changes before an error stay. Invalid input is detected before anything is written.
   */
  void mutate(1: string graph, 2: list<GraphMutation> mutations, 3: CallOptions options) throws (
    1: BadInput bad_input, 3: Conflict conflict, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Remove up to `count` (1,000) of a node's best edges in a graph, and return them, with the best first.
   * No edge is returned to two requests unless it was added again. If the response is lost, so are its
   * edges, unless the call is repeated with the same `request_id`.
   */
  list<GraphEdge> takeEdges(1: string graph, 2: string node, 3: i32 type, 4: i32 count, 5: TakeEdgesOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Remove a node's edges of a type except the `keep` best ones, and return how many were removed. One call
   * removes up to 10,000. For a longer list, it raises Unavailable, and the call must be repeated.
   */
  i64 trimEdges(1: string graph, 2: string node, 3: i32 type, 4: i32 keep, 5: string direction, 6: TrimEdgesOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** List a node's edges with the same score whose order starts with `prefix`, for types in `store.graph_ordered`. */
  EdgePage edgesByPrefix(1: string graph, 2: string node, 3: i32 type, 4: binary prefix, 5: string direction, 6: i32 limit, 7: string cursor, 8: EdgesByPrefixOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** List the properties of a graph's node whose names start with `prefix`. `limit` and `cursor` are as in `outlinks`. */
  PropertyPage nodeProperties(1: string graph, 2: string node, 3: string prefix, 4: i32 limit, 5: string cursor, 6: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** List the nodes of a graph whose value of a property in `store.graph_sorted` starts with `prefix`, sorted by value. Each has only that property. */
  ScannedNodes lookupPrefix(1: string graph, 2: string name, 3: binary prefix, 4: i32 limit, 5: string cursor, 6: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),
}
