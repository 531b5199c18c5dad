/**
 * The services of aragog for programs in any language: UrlStore, Fetcher, PinLater and Zen.
 *
 * Protocol: binary, strict, in frames (TFramedTransport). One port serves all services
 * through TMultiplexedProtocol, under their names below. A client without multiplexing reaches
 * UrlStore. A connection handles one call at a time, in the order of its frames; further frames
 * wait. A request frame holds at most `serving.max_body_bytes` (4 MiB unless configured), a reply
 * at most 16,000,000 bytes.
 *
 * Units: every number has its unit in its name. Instants are milliseconds since the epoch.
 * Strings are UTF-8. URLs may be given in any spelling: they are normalized, and calls follow
 * aliases to the canonical URL.
 *
 * Deadlines: `deadline_ms` limits one call, measured at the server from the arrival of its frame.
 * Without it the limit is `serving.deadline_ms` (1,000), and for `content`, `remove`, `enqueue`,
 * `explain` and all calls of PinLater `serving.content_deadline_ms` (10,000). These two are also the maximum:
 * a longer deadline is shortened. A call that misses its deadline ends with DeadlineExceeded; a write may
 * have happened.
 *
 * Retries: reads may be repeated. `put`, `deleteFields`, `remove`, `addLinks`, `removeLinks`,
 * `watch` and `unwatch` may be repeated as well; only a `put` with `if_version` may then find its
 * own version (Conflict).
 */
namespace py aragog_urlstore
namespace go urlstore
namespace java org.aragog.urlstore

/** An argument is invalid; a retry cannot help. Nothing was written. */
exception BadInput {
  1: string message
  /** The cause, as over HTTP: docs/thrift.md lists them. */
  2: optional string code
}

/** Nothing is stored under this URL. */
exception NotFound {
  1: string message
  /** The cause, as over HTTP: docs/thrift.md lists them. */
  2: optional string code
}

/**
 * A conditional write found another version: read again and decide again. Or another record has this value
 * of a unique property: `url` names it. Nothing was written.
 */
exception Conflict {
  1: string message
  /** With `conflict`: the version that was found; empty: the record does not exist. */
  2: string found_version
  /** The cause, `conflict` or `value_taken`; absent from older servers. */
  3: optional string code
  /** With `value_taken`: the record that has the value; of a node that is no page its id. */
  4: optional string url
  /** With `value_taken`: the property. */
  5: optional string property
}

/**
 * The connection has no token, an unknown one, or one without the scope that this call requires
 * (read, write or admin; admin includes the others), or a field may be written by other tokens only.
 * Nothing was done.
 */
exception Unauthorized {
  1: string message
  /** The cause, as over HTTP: docs/thrift.md lists them. */
  2: optional string code
}

/** The server is full or stopping, the token exceeds its rate or quota, or a part does not answer. */
exception Unavailable {
  1: string message
  /** When to call again. */
  2: i64 retry_after_ms
  /** The cause, as over HTTP: docs/thrift.md lists them. */
  3: optional string code
  /** With the code over_quota: urls_a_day, waiting_urls or bytes_a_day, its bound, and what is used. */
  4: optional string limit
  5: optional i64 most
  6: optional i64 used
}

/** The call took longer than its deadline. A write may have happened. */
exception DeadlineExceeded {
  1: string message
  /** The cause, as over HTTP: docs/thrift.md lists them. */
  2: optional string code
}

/** Stored data is damaged, or the server has a defect; its log has the details. */
exception InternalError {
  1: string message
  /** The cause, as over HTTP: docs/thrift.md lists them. */
  2: optional string code
}

/** The URL was taken down, by itself or with its host or domain: nothing is stored or served of it. */
exception TakenDown {
  1: string message
  /** Normalized. */
  2: string url
  /** The cause, as over HTTP: docs/thrift.md lists them. */
  3: optional string code
}

/** Options of a call that has no others. */
struct CallOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
}

struct ReadOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Also return `facts`, `content_bytes`, `content_hash` and `due_at_ms`. Default: false. */
  2: optional bool facts
  /** Also some of `aliases`, `inlinks` and `fetch`; each costs about one more read. Default: none. */
  3: optional list<string> extras
  /** Only a page whose site does not refuse this use of it: search, ai-input, ai-train. Default: any. */
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
  /** From sending the request to the end of the response's head. */
  4: optional double latency_ms
  /** Of the response, in order, up to 4 KiB; cookies without their values. */
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
  /** Of the last response; absent without one. */
  5: optional i32 status
  /** Why there is no page. */
  6: optional string reason
  /** Fetches that it took. */
  7: i32 attempts
  /** Of the last response, in order, up to 16 KiB; cookies without their values. */
  8: list<Header> headers
  /** The redirects, in order. */
  9: list<Hop> hops
  10: optional double dns_ms
  11: optional double connect_ms
  /** From sending the last request to the end of the response's head. */
  12: optional double first_byte_ms
  /**
   * Of the fetch, with its redirects and the waits for their slots. A redirect whose slot is more
   * than a second away ends the measurement: the fetch continues later, and it begins again.
   */
  13: double total_ms
  /** The IP address of the last server. */
  14: optional string address
  /** The TLS version; absent for plain HTTP. */
  15: optional string tls
  /** Size of the decoded body. */
  16: i64 body_bytes
  /** The body is incomplete: a limit, or a connection that ended early. */
  17: bool truncated
  /** Of the last response, as sent. */
  18: optional string content_type
  /** "rendered", or why a browser did not; absent if none was asked for. */
  19: optional string rendering
  /** What a 402 asks for the page, as sent, such as "USD 0.01". */
  20: optional string crawler_price
  /** What robots.txt said about uses of the page, a statement a line: "ai-train=n (robots.txt line 4, …)". */
  21: optional string robots_preferences
  /** The same of its headers and elements. */
  22: optional string page_preferences
  /** The version of HTTP: "1.1" or "2". */
  23: optional string http_version
  /** What the next request waits for, or who forbids it; see the causes in docs/fetching.md. */
  24: optional string cause
  /** The egress route of the last request, by its name in egress.ways; absent: direct. */
  25: optional string way
}

/** What is stored of one URL. */
struct Record {
  /** The requested URL, normalized. */
  1: string url
  /** The URL that stands for the page; `url` itself if it is not an alias. */
  2: string canonical_url
  /** Field to value, exactly as it was put. */
  3: map<string, binary> fields
  /** Changes with every write; for `PutOptions.if_version`. */
  4: string version
  /** Facts of the last fetch (docs/fetching.md), each value as JSON. Only with `facts`. */
  5: optional map<string, string> facts
  /** Size of the page's content before compression. Absent: there is none. Only with `facts`. */
  6: optional i64 content_bytes
  /** SHA-256 of the content as stored, in hex. Only with `facts`. */
  7: optional string content_hash
  /** When the URL is fetched again. Absent: never. Only with `facts`. */
  8: optional i64 due_at_ms
  /** Read from the standby store, whose data may be older. */
  9: optional bool from_standby
  /** Other URLs of the page, up to 1,000. Only if `extras` has it, as the next two. */
  10: optional list<string> aliases
  /** How many links lead to the page. */
  11: optional i64 inlinks
  /** The last fetch; absent also if there was none. */
  12: optional FetchReport fetch
}

/** Why an item of a batch has no result. */
enum ItemStatus {
  OK = 0
  /** Nothing is stored under this URL. */
  NOT_FOUND = 1
  /** Not a URL. */
  BAD_INPUT = 2
  /** The reply is full: ask for this URL in another call. */
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
   * When the values were true; a value never replaces one of a later instant. Default: now; not
   * below 0, and at most a minute ahead of the server's clock.
   */
  2: optional i64 at_ms
  /** Field to where its value was found. */
  3: optional map<string, string> provenance
  /** Write only if the record has this version; empty: only if it does not exist; `*`: if it does. */
  4: optional string if_version
  /** Fields to delete as well, up to 1,000. */
  5: optional list<string> deleted
  /** Delete all other fields that the record had. Default: false. */
  6: optional bool replace
}

/** Options of a deletion. */
struct DeleteOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Delete only if the record has this version; `*`: only if there is a record. */
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
  /** Continues the list. Absent: it is complete. */
  2: optional string cursor
  /** How many there are in all. Only with `count`. */
  3: optional i64 count
}

/** A field without its value. */
struct FieldSize {
  1: string name
  /** Of its value. */
  2: i64 size_bytes
  /** When the field got the value, in ms since the epoch. */
  3: i64 at_ms
}

struct FieldSizePage {
  /** In the order of their names. */
  1: list<FieldSize> fields
  /** Continues the list. Absent: it is complete. */
  2: optional string cursor
}

/** A page that has the same body as another one, or nearly the same text. */
struct SamePage {
  /** Its canonical URL. */
  1: string url
  /** True if the bodies are the same. */
  2: bool is_identical
  /** How many of the 64 bits of the fingerprints differ. Absent: one of the texts is too short. */
  3: optional i32 distance
}

struct SamePages {
  /** In no particular order. */
  1: list<SamePage> pages
  /** Continues the list. Absent: it is complete. */
  2: optional string cursor
}

struct SameContentOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Also pages whose fingerprints (page.fingerprint) differ in at most this many of 64 bits, 0 to 3. Default: only pages with the same body. */
  2: optional i32 within
  /** Only pages whose sites do not refuse this use of them: search, ai-input, ai-train. Default: any. */
  3: optional string purpose
}

struct OutlinksOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Only links on pages whose sites do not refuse this use of them: search, ai-input, ai-train. Default: any. */
  2: optional string purpose
}

struct InlinksOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Also return how many there are in all, on any page. Default: false. */
  2: optional bool count
  /** As in `OutlinksOptions`: of the pages that have the links. */
  3: optional string purpose
}

struct ContentOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** First byte to return; default 0. */
  2: optional i64 offset_bytes
  /** The largest number of bytes to return; default and maximum 15,000,000. */
  3: optional i64 limit_bytes
  /** `original` (default), as it was fetched; or the page's main text as `text` or `markdown`, in UTF-8. */
  4: optional string form
  /** As in `ReadOptions`. */
  5: optional string purpose
  /** The content of that instant, if it is kept; only with the form `original`. Default: the present one. */
  6: optional i64 at_ms
}

/** The content of a page as it was fetched, without its content encoding; or its main text. */
struct Content {
  /** The canonical URL that it is stored under. */
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
  /** Since when the field had this value. */
  2: i64 at_ms
}

struct ChangesOptions {
  /** Changes after it. Default: since the oldest that is kept; `now`: the feed's end. */
  1: optional string cursor
  /** 1 to 1,000; more counts as 1,000. Default: 100. */
  2: optional i32 limit
  /** Only of pages that this owner watches. */
  3: optional string owner
  /** Only of pages of this host. */
  4: optional string host
  /** How long to wait for a change; 30,000 at most. Default: 0. */
  5: optional i32 wait_ms
  /** As in `ReadOptions`; changes of other pages have no fields. */
  6: optional string purpose
  /** Only changes of items of this kind. */
  7: optional string items
  /** Only changes of the item of that kind with this key. */
  8: optional string key
}

/** One item of a page, as the page shows it that was fetched last among those that have it. */
struct ItemRecord {
  1: string kind
  /** What tells it from the others of its kind; empty: nothing does. */
  2: string key
  /** Field to value, each as JSON; decimals and dates are strings. */
  3: map<string, string> values
  /** The canonical URL of that page. */
  4: string page_url
  /** When that page was fetched. */
  5: i64 fetched_at_ms
}

struct ItemPage {
  /** In no particular order. */
  1: list<ItemRecord> items
  /** Continues the list. Absent: it is complete. */
  2: optional string cursor
}

/** The values of an item since an instant. */
struct PastItem {
  1: i64 at_ms
  /** Field to value, each as JSON. Absent: no page had the item. */
  2: optional map<string, string> values
}

struct ItemsOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Only the item with this key. */
  2: optional string key
  /** Only items of pages whose sites do not refuse this use of them: search, ai-input, ai-train. Default: any. */
  3: optional string purpose
}

struct ItemHistoryOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** As in `ItemsOptions`. */
  2: optional string purpose
}

/** The old and the new value of a field, as stored; absent: there was none, or it is too long. */
struct ValueChange {
  1: optional string before
  2: optional string now
}

/** The differences that one fetch found to the stored page. */
struct Change {
  /** The canonical URL. */
  1: string url
  /** When it was fetched. */
  2: i64 at_ms
  /** new, changed, content, withheld, redirected, gone, back, given_up, withdrawn or reserved. */
  3: string kind
  4: map<string, ValueChange> fields
  /** Who watched the page then. */
  5: list<string> owners
  /** Continues after this change. */
  6: string cursor
  /** The content's hash before and after; absent: it is the same. */
  7: optional ValueChange content_hash
  /** Where the URL leads now. */
  8: optional string redirected_to
}

struct ChangePage {
  1: list<Change> changes
  /** Continues after them. */
  2: optional string cursor
}

/** What to take down: one of the three. */
struct TakedownOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** A page with its aliases; of an alias on another host only the alias. */
  2: optional string url
  /** All URLs of a host, on all its ports. */
  3: optional string host
  /** All URLs of a domain, and of the hosts below it. */
  4: optional string domain
}

struct TakedownEntry {
  /** host, domain or url. */
  1: string kind
  2: string name
}

struct TakedownPage {
  1: list<TakedownEntry> takedowns
  /** Continues the list. Absent: it is complete. */
  2: optional string cursor
}

struct TokenView {
  /** Absent: the server requires no tokens. */
  1: optional string name
  /** read, write, admin; admin includes the others. */
  2: list<string> scopes
  /** Requests per second, over all processes of the server; absent: unlimited. */
  3: optional double rate
}

/** Calls that every service has. */
service Session {
  /** Returns at once. */
  void ping(),

  /**
   * Use this token for all later calls of this connection, for all services. A server on loopback
   * may require none.
   */
  void authenticate(1: string token) throws (4: Unauthorized unauthorized),
}

/** Metadata, links and content of URLs. Reads require scope read, writes scope write. */
service UrlStore extends Session {
  /**
   * The record of a URL; NotFound if there is none.
   *
   * fields: which fields to return, up to 1,000; empty: all.
   */
  Record get(1: string url, 2: list<string> fields, 3: ReadOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** The records of up to 1,000 URLs, a result for each, in their order. `fields` as in `get`. */
  list<RecordResult> getMany(1: list<string> urls, 2: list<string> fields, 3: BatchReadOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Set up to 1,000 fields; others stay. Returns the new version. */
  string put(1: string url, 2: map<string, binary> fields, 3: PutOptions options) throws (
    1: BadInput bad_input, 3: Conflict conflict, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Delete fields; names that the record does not have are ignored. Returns the new version. */
  string deleteFields(1: string url, 2: list<string> names, 3: DeleteOptions options) throws (
    1: BadInput bad_input, 3: Conflict conflict, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Remove the page, its links and its content until a later fetch brings it back. */
  void remove(1: string url, 2: DeleteOptions options) throws (
    1: BadInput bad_input, 3: Conflict conflict, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Links of the page in document order; `limit` 1 to 1,000, more counts as 1,000; `cursor` empty: from the start. */
  LinkPage outlinks(1: string url, 2: i32 limit, 3: string cursor, 4: OutlinksOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Links to the page and to its aliases; new ones appear after the next compaction. */
  LinkPage inlinks(1: string url, 2: i32 limit, 3: string cursor, 4: InlinksOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Add up to 1,000 outlinks; those to the same targets are replaced. */
  void addLinks(1: string url, 2: list<Link> links, 3: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Remove the outlinks to up to 1,000 targets; those that the page does not have are ignored. */
  void removeLinks(1: string url, 2: list<string> targets, 3: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** How many links `inlinks` lists; read from counts, at the same cost for any number. */
  i64 countInlinks(1: string url, 2: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** The page's content, or a part of it; NotFound if there is none. */
  Content content(1: string url, 2: ContentOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** The URLs that stand for the same page, without the canonical one. */
  list<string> aliases(1: string url, 2: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Earlier values of a field in `store.history`, newest first. */
  list<PastValue> history(1: string url, 2: string field, 3: HistoryOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** The fields of a record with their sizes, also of one that is too large to be read whole. */
  FieldSizePage fieldSizes(1: string url, 2: i32 limit, 3: string cursor, 4: CallOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Other pages of the same host with the same body, and perhaps those with nearly the same text. */
  SamePages sameContent(1: string url, 2: i32 limit, 3: string cursor, 4: SameContentOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Items of a kind in the rules of a host, or of a host below it; an item that several pages show comes
   * once. A part may have more items than `limit`, if they have no key.
   */
  ItemPage items(1: string kind, 2: string host, 3: i32 limit, 4: string cursor, 5: ItemsOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** What an item was before, newest first, on the pages that have it now, as `store.history` keeps `items.KIND`. */
  list<PastItem> itemHistory(1: string kind, 2: string host, 3: string key, 4: ItemHistoryOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Keep the URL's page fresh for `owner` (1 to 200 bytes). Fetches nothing itself. */
  void watch(1: string url, 2: string owner, 3: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** End an owner's watch. After the last one the page is no longer refreshed; it stays. */
  void unwatch(1: string url, 2: string owner, 3: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** The owners that watch the URL's page, sorted. */
  list<string> watchers(1: string url, 2: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Changes of pages that were fetched again; each is returned at least once. A page of the feed may
   * be empty although there is more after its cursor.
   */
  ChangePage changes(1: ChangesOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Delete a URL, or all of a host or domain, and refuse them from now on; returns how many URLs
   * lost data. Scope admin. It continues after its deadline, and may be repeated until it answers.
   */
  i64 takeDown(1: TakedownOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Accept a URL, host or domain again; deleted data does not come back. False: it was not taken
   * down. Scope admin.
   */
  bool liftTakedown(1: TakedownOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Everything that was taken down; `limit` and `cursor` as in `outlinks`. Scope admin. */
  TakedownPage takedowns(1: i32 limit, 2: string cursor, 3: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** What the token of this connection may do; any token may ask. */
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
  /** Do not fetch before this instant. Default: now. */
  3: optional i64 run_after_ms
  /** Link hops to follow from each URL, within its registered domain; 0 to 100. Default: 0. */
  4: optional i32 depth
  /** Also fetch URLs that are stored already. Default: false. */
  5: optional bool refresh
  /** The URLs are sitemaps; enqueue the URLs that they list. Default: false. */
  6: optional bool sitemap
  /** Names this call in the logs of all stages: up to 64 printable characters. Default: a new id. */
  7: optional string request_id
  /** Follow only links that match one of these, up to 50 of both; `*` for any characters. */
  8: optional list<string> include_patterns
  /** Follow no link that matches one of these. */
  9: optional list<string> exclude_patterns
  /** Add the URLs to the batch of an earlier call. Default: to a new one. */
  10: optional string batch
  /** The context of the caller's span (W3C Trace Context), which the URLs' traces continue. */
  11: optional string traceparent
  /** The crawl that the URLs belong to; it must have been started. */
  12: optional string crawl
}

/** What became of one URL. */
struct EnqueueResult {
  /** The URL as given. */
  1: string input
  /** accepted, already waiting, invalid, taken down, out of scope or over budget (docs/client.md#enqueue-urls). */
  2: string status
  /** The URL, normalized; absent if it is invalid. */
  3: optional string url
  /** Why it was not enqueued. */
  4: optional string reason
  /** The batch of this call, for `batch`; absent: the server has no batches. */
  5: optional string batch
}

/** The URLs of one domain that are not done yet. */
struct DomainProgress {
  1: string domain
  2: i64 in_flight
  /** Its current rate, in requests/s. */
  3: double qps
  4: i64 finish_at_ms
}

/** How far a batch of enqueued URLs is. */
struct BatchProgress {
  1: string batch
  2: i64 total
  /** Stored, or given up. */
  3: i64 done
  4: i64 in_flight
  /** By the slots and rates of its domains; absent: all is done. */
  5: optional i64 estimated_finish_at_ms
  /** The domains that finish last. */
  6: list<DomainProgress> slowest
}

struct FetchOptions {
  /** How long to wait for the fetch; 0 to 60,000. Default: 10,000. The reply comes by then. */
  1: optional i32 max_wait_ms
  /** Do not fetch a page that was confirmed within this time. Default: 0, always fetch. */
  2: optional i64 max_age_ms
  /** Fields to return in the record, up to 1,000. Default: all. */
  3: optional list<string> fields
  /** Also return the page's content, up to 15,000,000 bytes of it. Default: false. */
  4: optional bool content
  /**
   * Names the fetch in the logs of all stages, if this call begins it: up to 64 printable
   * characters. Default: a new id.
   */
  5: optional string request_id
  /** `max_age_ms` of single fields. */
  6: optional map<string, i64> field_max_age_ms
  /** As in `EnqueueOptions`. */
  7: optional string traceparent
  /** As in `ReadOptions`; neither record nor content nor report of another page. */
  8: optional string purpose
}

struct FreshOptions {
  /** Fetch the page first if it was confirmed longer ago. Default: only if it is unknown. */
  1: optional i64 max_age_ms
  /** The same for single fields. */
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

/** How what is stored of a URL relates to `max_age_ms`. */
enum FetchState {
  /** Young enough, or fetched by now. */
  FRESH = 0
  /** Older: the fetch was not done in time, or failed. */
  STALE = 1
  /** No page is stored; `report` gives the reason why the last fetch failed, if there was one. */
  ABSENT = 2
}

struct FetchAnswer {
  /** The requested URL, normalized. */
  1: string url
  2: FetchState state
  /** What is stored. Absent: nothing. */
  3: optional Record record
  /** Since the page was last confirmed, by a fetch or a 304. Absent: never. */
  4: optional i64 age_ms
  /** The fetch continues: a later call may return more. */
  5: bool fetching
  /** Why the URL is not fetched, or why its last fetch brought no page. */
  6: optional string reason
  /** The last fetch. Absent: there was none, or it is an extra of `record`. */
  7: optional FetchReport report
  /** Only with `content`. */
  8: optional Content content
  /** Fields of `field_max_age_ms` that are older than that. */
  9: optional list<string> stale_fields
}

/** One known fact about a URL; it may contain untrusted text. */
struct ExplanationLine {
  1: string name
  2: string text
  /** Its source or age; may be empty. */
  3: string note
}

/** The facts about a URL from one part of the system. */
struct ExplanationSection {
  1: string title
  2: list<ExplanationLine> lines
  /** Why the section is incomplete. Absent: it is complete. */
  3: optional string problem
}

/** Everything that is known of one URL. */
struct Explanation {
  /** The URL as it was given. */
  1: string input
  /** Normalized. */
  2: string url
  3: list<ExplanationSection> sections
}

/** A crawl, and what became of its URLs (docs/crawls.md). */
struct CrawlView {
  1: string name
  /** running, done, paused, cancelled or ended. */
  2: string state
  3: string reason
  4: i64 enqueued
  5: i64 waiting
  /** Enqueued again after their pages had been stored for it. */
  6: i64 repeated
  7: i64 bytes
  /** URLs by outcome, among them stored and cancelled. */
  8: map<string, i64> outcomes
  9: list<string> scope
  10: i32 depth
  11: bool nofollow
  12: i32 priority
  /** Absent: what the settings say. */
  13: optional string purposes
  14: optional i64 max_urls
  15: optional i64 max_urls_per_host
  16: optional i64 max_bytes
  17: optional i64 until_ms
  18: optional double rate
  /** The name of the token that started it. */
  19: string token
  20: i64 created_at_ms
  21: i64 changed_at_ms
  /** The time between two rounds; absent or 0: it runs once. */
  22: optional i64 every_s
  /** How often it has begun again, and when it does next (0: by no schedule). */
  23: i64 round
  24: i64 next_round_ms
  /** The address that is told when it is done or ends; empty: none. */
  25: string notify
  26: optional double notify_error_rate
  /**
   * Of what was stored: unchanged, and duplicate of another canonical URL. Of links that were not
   * enqueued: trap were left out as parts of traps, held may still be followed.
   */
  27: map<string, i64> notes
  /** Its share of a domain's slots beside other crawls of its token. */
  28: double weight
  /** Hosts of which URLs are fetched at once; absent or 0: no bound. */
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
  /** Of them, since midnight UTC, and on the day before. */
  4: i64 today
  5: i64 yesterday
}

/** A domain of which URLs wait for a crawl. */
struct CrawlOpenDomain {
  1: string domain
  2: i64 waiting
  /** Requests a second for this crawl. */
  3: double rate
  /** Absent: nothing is asked now. */
  4: optional double seconds_left
  5: string held_by
  6: bool robots_unreachable
}

/** A template of which no link is followed (docs/crawls.md). */
struct ClosedTemplate {
  1: string host
  2: string template
  3: string reason
}

struct CrawlReport {
  1: CrawlView crawl
  /** Those with the most URLs, up to 1,000. */
  2: list<CrawlDomain> domains
  /** Of the last 90 days. */
  3: list<CrawlHour> hours
  /** The most frequent first, up to 1,000. */
  4: list<CrawlFailure> failures
  /** The slowest first, up to 1,000. */
  5: list<CrawlOpenDomain> open
  6: i64 open_domains
  /** Until the last open domain is done, by its rate. */
  7: optional double seconds_left
  /** Of its hosts, up to 1,000. */
  8: optional list<ClosedTemplate> traps
}

/** Options of a crawl; absent: it stays as it was. */
struct CrawlOptions {
  /** As in the other options. */
  1: optional i32 deadline_ms
  /** host:, domain:, prefix: or pattern: and a value, with - in front for what is left out. */
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
  /** Requests a second to a domain, if that is fewer than the domain allows. */
  11: optional double rate
  /** The time between two rounds from its seeds, with conditional requests; 0: no more rounds. */
  12: optional i64 every_s
  /** The address that is told when it is done or ends, signed as webhooks are; empty: none. */
  13: optional string notify
  /** The secret of these signatures; it is not shown. */
  14: optional string notify_secret
  /** Tell it too when this share of a day's URLs has failed. */
  15: optional double notify_error_rate
  /** Its share of a domain's slots beside other crawls of its token; the usual is 1. */
  16: optional double weight
  /** Hosts of which URLs are fetched at once, in turns; 0: no bound. */
  17: optional i64 max_open_hosts
}

struct ScopeOptions {
  1: optional i32 deadline_ms
  /** The page that links to the URL. */
  2: optional string page_url
}

struct ScopeDecision {
  1: bool accepted
  /** The rule that decided. */
  2: string rule
}

struct DeletedCrawl {
  /** Pages that were deleted. */
  1: i64 deleted
  /** Pages that stay, by reason. */
  2: map<string, i64> kept
}

struct CancelOptions {
  1: optional i32 deadline_ms
  2: optional list<string> urls
  3: optional list<string> hosts
  4: optional list<string> domains
  /** Whole URLs; * stands for any characters. */
  5: optional list<string> patterns
  /** Only count what waits of them. */
  6: optional bool dry_run
}

/** A template of a host's URLs (docs/crawls.md). */
struct HostTemplate {
  1: string template
  /** open, closed or "on trial". */
  2: string state
  /** Who says so: operator or learned. */
  3: string by
  /** Pages that brought something. */
  4: i64 brought
  /** Pages that brought nothing. */
  5: i64 nothing
  /** Why it is closed, where that was learned. */
  6: string reason
}

/** The templates of a host. */
struct HostTemplates {
  1: string host
  /** About how many links wait for a verdict. */
  2: i64 held
  /** Links that were not followed. */
  3: i64 left_out
  /** Those that are closed first. */
  4: list<HostTemplate> templates
}

struct CancelAnswer {
  /** How many URLs wait, in a dry run. */
  1: optional i64 waiting
}

/** Fetches URLs politely: robots.txt, rate limits and address filters apply. Scope write. */
service Fetcher extends Session {
  /**
   * Fetch a URL now, at the highest priority, and return what is stored when it is done or the
   * time is over. Any number of callers cause one fetch; it continues when they have given up.
   */
  FetchAnswer fetch(1: string url, 2: FetchOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * What is stored of a URL, which is fetched first if it is unknown or too old. Without a wait the
   * page is fetched for the next reader.
   */
  FetchAnswer getFresh(1: string url, 2: FreshOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Enqueue up to 1,000 URLs, with a result for each, in their order. */
  list<EnqueueResult> enqueue(1: list<string> urls, 2: EnqueueOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Everything that is known of a URL, by part of the system, and what it waits for. It only reads.
   * Scope read.
   */
  Explanation explain(1: string url, 2: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** How far a batch is; NotFound if it is unknown, or older than three days. Scope read. */
  BatchProgress batch(1: string batch, 2: CallOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),
  /**
   * Start a crawl, or change and continue the one of this name. A token may change the crawls that it
   * started, admin all. Scope write.
   */
  CrawlView startCrawl(1: string name, 2: CrawlOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** All crawls. Scope read. */
  list<CrawlView> listCrawls(1: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** A crawl, and what became of its URLs. Scope read. */
  CrawlView getCrawl(1: string name, 2: CallOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Outcomes of a crawl by domain and by hour, what fails, what holds it back, and the time left. Scope read. */
  CrawlReport crawlReport(1: string name, 2: CallOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** `paused`, `running` (resume it) or `cancelled`. Scope write. */
  CrawlView setCrawlState(1: string name, 2: string state, 3: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Whether a URL belongs to a crawl, and the rule that decides. Scope read. */
  ScopeDecision tryScope(1: string name, 2: string url, 3: ScopeOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Cancel a crawl, delete its pages that nobody else has, and forget it. Scope admin. */
  DeletedCrawl deleteCrawl(1: string name, 2: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Cancel URLs that wait, whoever enqueued them; stored pages stay. Scope admin. */
  CancelAnswer cancelUrls(1: CancelOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** The templates of a host's URLs, those first whose links are not followed. Scope read. */
  HostTemplates listTemplates(1: string host, 2: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Follow all links of a template (open), none (closed), or those that bring something (learned). Scope admin. */
  HostTemplates decideTemplate(1: string host, 2: string template, 3: string state, 4: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),
}

/** A job to enqueue. */
struct NewJob {
  /** Opaque; returned by `dequeue` as it is. Up to 1,000,000 bytes. */
  1: binary body
  /** 0 (most urgent) to 9. Default: 5. */
  2: optional i32 priority
  /** Do not deliver it earlier. Default: 0; maximum one year. */
  3: optional i64 delay_ms
  /** Deliveries before the job is FAILED; default: the queue's setting (10). */
  4: optional i32 max_attempts
  /** While a job with this key waits or runs, another one is not accepted. */
  5: optional string unique_key
  /** The job type, which says what to do with the body; may be absent where the queue has only one. */
  6: optional string name
  /** The media type of the body. Default: application/octet-stream. */
  7: optional string content_type
}

struct EnqueuedJob {
  1: string job_id
  /** Its unique key was in use: the id is that of the other job, and nothing was added. */
  2: bool already_there
}

struct DequeueOptions {
  /** 1 or more; without the time that `wait_ms` takes. */
  1: optional i32 deadline_ms
  /** How long the jobs belong to the caller without `extend`; 1,000 to 86,400,000. Default: 60,000. */
  2: optional i64 claim_ms
  /** Name of the worker, for display. */
  3: optional string worker
  /**
   * How long to wait for a job if none is due; 0 to 60,000. Default: 0. At most
   * `serving.max_waiting` callers of a process wait; further ones are answered at once.
   */
  4: optional i32 wait_ms
}

/** A job that belongs to the caller until its claim expires. */
struct ClaimedJob {
  1: string job_id
  /** Of this delivery; `ack`, `nack` and `extend` require it. */
  2: i64 claim_token
  /** 1 for the first delivery. */
  3: i32 attempt
  4: binary body
  /** Of the body, as its producer gave it. */
  5: string content_type
  /** The job type; empty if the producer named none. */
  6: string name
}

/** A claim, as `dequeue` returned it. */
struct JobClaim {
  /** Names the queue as well: a job of another queue is BadInput. */
  1: string job_id
  2: i64 claim_token
  /** For `nack`: the attempt that failed, from which the delay is computed. Default: 1. */
  3: optional i32 attempt
}

struct NackOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Why, for display. */
  2: optional string reason
  /** Deliver again after this time, 0 to one year. Default: by the queue's retry policy. */
  3: optional i64 delay_ms
  /** The job is FAILED now, and is not delivered again. Default: false. */
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
  /** Up to 1,000. Default: all jobs of the state. */
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

/** How many jobs a queue has in each state, its rate, and how it retries. */
struct QueueState {
  1: string queue
  2: bool paused
  /** Jobs a second over all workers; absent: no limit. */
  3: optional double rate
  /** PENDING jobs that are due. */
  4: i64 due
  /** PENDING jobs that are not yet due. */
  5: i64 later
  6: i64 running
  /** Those that are still remembered. */
  7: i64 succeeded
  /** Those that are still kept. */
  8: i64 failed
  /** Since the oldest due job became due; 0: none is due. */
  9: i64 oldest_due_ms
  10: i32 max_attempts
  11: i32 linear_attempts
  12: i64 retry_step_ms
  13: double retry_growth
  14: i64 retry_cap_ms
  15: i64 max_age_ms
  /** Servers that did not answer; the numbers are without their jobs. */
  16: list<string> missing_shards
}

/** Settings to change; those that are absent stay. */
struct QueueSettings {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** True: deliver no jobs; new ones are accepted. */
  2: optional bool paused
  /** Jobs a second over all workers; 0: no limit. */
  3: optional double rate
  /** A whole retry policy: pinlater (ten retries, five linear, then exponential), once, or default. */
  4: optional string retry_policy
  /** The retry policy is for this job type alone. */
  5: optional string job_type
  /** Deliveries before a job is FAILED; 1 to 1,000. */
  6: optional i32 max_attempts
  /** Failures whose delay grows by a step; 0 to 1,000. */
  7: optional i32 linear_attempts
  /** The delay before the second attempt; 0 to one year. */
  8: optional i64 retry_step_ms
  /** Factor of each delay after the linear ones; 1 to 10. */
  9: optional double retry_growth
  /** The longest delay; 0 to one year. */
  10: optional i64 retry_cap_ms
  /** A job is FAILED when its next attempt would be later than this after it was enqueued; 0: no limit. */
  11: optional i64 max_age_ms
}

/**
 * Jobs that wait on the server until they are due. Scope write, unless a call names another. A queue that
 * a client uses first is open to HTTP and Thrift; a queue of a Celery app is open where its job types name
 * the door, and the queues of the crawler are not: Unauthorized.
 *
 * Delivery is at least once: a job whose claim expires is delivered again.
 */
service PinLater extends Session {
  /** Add up to 1,000 jobs. After an error some of them may have been added. */
  list<EnqueuedJob> enqueue(1: string queue, 2: list<NewJob> jobs, 3: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /**
   * Claim up to `limit` (1 to 200) due jobs, the most urgent first. Returns as soon as there are
   * any; empty if no job was due within `wait_ms`, or the server stops. A client that disconnects
   * while it waits claims nothing.
   */
  list<ClaimedJob> dequeue(1: string queue, 2: i32 limit, 3: DequeueOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** Jobs that are done; false where the claim was no longer the caller's. */
  list<bool> ack(1: string queue, 2: list<JobClaim> claims, 3: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** Jobs to deliver again later, or FAILED; false where the claim was no longer the caller's. */
  list<bool> nack(1: string queue, 2: list<JobClaim> claims, 3: NackOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** Keep claims for another `claim_ms` (1,000 to 86,400,000) from now; false where one was lost. */
  list<bool> extend(1: string queue, 2: list<JobClaim> claims, 3: i64 claim_ms, 4: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** The queues that are open to Thrift, sorted. Scope read. */
  list<string> queues(1: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** NotFound if there is no such queue. Scope read. */
  QueueState state(1: string queue, 2: CallOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** Jobs in a state: waiting ones soonest first, ended ones latest first. */
  list<KeptJob> jobs(1: string queue, 2: ListJobsOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** Run FAILED jobs again, with all their attempts. Returns how many are PENDING again. */
  i32 retryFailed(1: string queue, 2: RetryJobsOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** Delete jobs that wait or have ended. Returns how many. */
  i32 remove(1: string queue, 2: DeleteJobsOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),

  /** Pause a queue, limit its rate, or change how its jobs are retried. Scope admin. */
  QueueState configure(1: string queue, 2: QueueSettings options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error),
}

struct GraphNode {
  /** Its id: 32 hexadecimal digits. */
  1: string node
  2: map<string, binary> properties
}

struct NodePage {
  1: list<string> nodes
  /** Continues the list. Absent: it is complete. */
  2: optional string cursor
}

struct GraphOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** A graph in `store.graphs`. Absent: the graph under the store. */
  2: optional string graph
}

struct ReadGraphOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** A graph in `store.graphs`. Absent: the graph under the store. */
  2: optional string graph
  /** As in `ReadOptions`, of nodes of pages; no effect with `graph`. */
  3: optional string purpose
}

struct ScannedNodes {
  1: list<GraphNode> nodes
  /** Continues the list. Absent: it is complete. */
  2: optional string cursor
}

/** One change of a graph. */
struct GraphMutation {
  /** put_node, remove_node, put_edge or remove_edge. */
  1: required string kind
  2: required string node
  /** Of an edge, from 16 to 65,535. */
  3: optional i32 type
  /** The node at the other end of an edge. */
  4: optional string other
  /** Of an edge that is put. Default: 0. */
  5: optional i64 score
  /** Up to 1,000. */
  6: optional map<string, binary> properties
  /** Sorts edges of one score, of a type in `store.graph_ordered`; up to 500 bytes. */
  7: optional binary order
}

/** An edge, seen from one of its ends. */
struct GraphEdge {
  /** The id of the node at the other end. */
  1: string node
  2: i64 score
  3: map<string, binary> properties
  /** What sorts it among those of its score. Absent: nothing. */
  4: optional binary order
}

struct EdgePage {
  1: list<GraphEdge> edges
  /** Continues the list. Absent: it is complete. */
  2: optional string cursor
}

struct PutEdgeOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Sorts the edges of a node. Default: 0. */
  2: optional i64 score
  3: optional map<string, binary> properties
  /** A graph in `store.graphs`. Absent: the graph under the store. */
  4: optional string graph
  /** In a graph, of a type in `store.graph_ordered`: sorts edges of one score; up to 500 bytes. */
  5: optional binary order
}

struct RemoveEdgeOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Of the edge; of no effect with `graph`. Default: 0. */
  2: optional i64 score
  /** A graph in `store.graphs`. Absent: the graph under the store. */
  3: optional string graph
}

struct GetEdgeOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Of the edge; of no effect with `graph`. Default: 0. */
  2: optional i64 score
  /** A graph in `store.graphs`. Absent: the graph under the store. */
  3: optional string graph
}

struct EdgesOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** The highest score first; no effect on type 0. Default: false. */
  2: optional bool reverse
  /** Only edges with such a score. Absent: all. */
  3: optional i64 least_score
  4: optional i64 most_score
  /** A graph in `store.graphs`. Absent: the graph under the store. */
  5: optional string graph
  /** As in `OutlinksOptions`; no effect on other types than 0. */
  6: optional string purpose
}

struct TakeEdgesOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** The edges with the lowest scores are the best. Default: false, the highest. */
  2: optional bool lowest
  /** A name of this request, up to 200 bytes: repeated with it within a day, it returns the same edges. */
  3: optional string request_id
}

struct TrimEdgesOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** The edges with the lowest scores are the best. Default: false, the highest. */
  2: optional bool lowest
}

struct EdgesByPrefixOptions {
  /** 1 or more. */
  1: optional i32 deadline_ms
  /** Of all these edges. Default: 0. */
  2: optional i64 score
  /** The last order first. Default: false. */
  3: optional bool reverse
}

struct PropertyPage {
  1: map<string, binary> properties
  /** Continues the list. Absent: it is complete. */
  2: optional string cursor
}

/**
 * The graph under the store. A node is named by its id, 32 hexadecimal digits, or by a URL, for the
 * node of its page. Properties of pages are fields, which only UrlStore writes. Edge types below 16
 * are the store's: 0 links of pages, 1 aliases, 2 watches. Reads require scope read, writes scope
 * write. With `graph` they are about a graph of an application, with tables of its own, and require
 * `read@graph` or `write@graph`; nodes then have names as well, of up to 200 bytes.
 */
service Zen extends Session {
  /** The properties of a node, up to 1,000 names; none given: all. NotFound: there is no node. */
  GraphNode getNode(1: string node, 2: list<string> properties, 3: ReadGraphOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Up to 1,000 nodes of a graph, in order; those that do not exist are left out. `properties` as in `getNode`. */
  list<GraphNode> getNodes(1: string graph, 2: list<string> nodes, 3: list<string> properties, 4: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** All nodes of a graph in the order of their ids; `limit` and `cursor` as in `outlinks`, `properties` as in `getNode`. */
  ScannedNodes scanNodes(1: string graph, 2: i32 limit, 3: string cursor, 4: list<string> properties, 5: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Set up to 1,000 properties of an application's node, which is created if it is missing. */
  void putNode(1: string node, 2: map<string, binary> properties, 3: GraphOptions options) throws (
    1: BadInput bad_input, 3: Conflict conflict, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Remove an application's node with its edges in both directions. In a graph one call removes up to
   * 10,000 edges; of a node that has more it raises Unavailable, and is to be repeated.
   */
  void removeNode(1: string node, 2: GraphOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** The nodes that have a value of a property in `store.indexed`; `limit` and `cursor` as in `outlinks`. */
  NodePage lookup(1: string name, 2: binary value, 3: i32 limit, 4: string cursor, 5: ReadGraphOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** The node that has a value of a property in `store.unique`; NotFound: none has it. `properties` as in `getNode`. */
  GraphNode lookupUnique(1: string name, 2: binary value, 3: list<string> properties, 4: ReadGraphOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Set an edge of a type from 16 to 65,535. In a graph a node has one edge of a type to another node,
   * and another score moves it; under the store, edges that differ in their score are different edges.
   */
  void putEdge(1: string node, 2: i32 type, 3: string other, 4: PutEdgeOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Remove an edge of a type from 16 to 65,535; does nothing if there is none. */
  void removeEdge(1: string node, 2: i32 type, 3: string other, 4: RemoveEdgeOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** The edge of a type from 1 from the node to the other one; NotFound: there is none. */
  GraphEdge getEdge(1: string node, 2: i32 type, 3: string other, 4: GetEdgeOptions options) throws (
    1: BadInput bad_input, 2: NotFound not_found, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Edges of a node by score; `direction` is out or in. Those of type 0 have url, text and rel. */
  EdgePage edges(1: string node, 2: i32 type, 3: string direction, 4: i32 limit, 5: string cursor, 6: EdgesOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** How many edges of a type a node has; read from counts for type 0 and those in `store.graph_counted`, by a scan for others. */
  i64 countEdges(1: string node, 2: i32 type, 3: string direction, 4: GraphOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Make up to 1,000 changes of a graph, in order; safe to repeat as a whole. Not atomic: those before
   * an error stay. BadInput is found before anything is written.
   */
  void mutate(1: string graph, 2: list<GraphMutation> mutations, 3: CallOptions options) throws (
    1: BadInput bad_input, 3: Conflict conflict, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Remove up to `count` (1,000) of the best edges out of a node of a graph, and return them, the best
   * first. Two requests never get one edge, unless it was put again. What a caller did not receive has
   * left the list: repeat the call with the same `request_id` to get it.
   */
  list<GraphEdge> takeEdges(1: string graph, 2: string node, 3: i32 type, 4: i32 count, 5: TakeEdgesOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /**
   * Remove the edges of a node of a graph except the `keep` best of a type; returns how many. One call
   * removes up to 10,000; of a longer list it raises Unavailable, and is to be repeated.
   */
  i64 trimEdges(1: string graph, 2: string node, 3: i32 type, 4: i32 keep, 5: string direction, 6: TrimEdgesOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Edges of a node of a graph, of one score and a type in `store.graph_ordered`, whose order begins with `prefix`. */
  EdgePage edgesByPrefix(1: string graph, 2: string node, 3: i32 type, 4: binary prefix, 5: string direction, 6: i32 limit, 7: string cursor, 8: EdgesByPrefixOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** The properties of a node of a graph whose names begin with `prefix`; `limit` and `cursor` as in `outlinks`. */
  PropertyPage nodeProperties(1: string graph, 2: string node, 3: string prefix, 4: i32 limit, 5: string cursor, 6: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),

  /** Nodes of a graph whose value of a property in `store.graph_sorted` begins with `prefix`, by their values; each has that property alone. */
  ScannedNodes lookupPrefix(1: string graph, 2: string name, 3: binary prefix, 4: i32 limit, 5: string cursor, 6: CallOptions options) throws (
    1: BadInput bad_input, 4: Unauthorized unauthorized,
    5: Unavailable unavailable, 6: DeadlineExceeded deadline_exceeded, 7: InternalError internal_error,
    8: TakenDown taken_down),
}
