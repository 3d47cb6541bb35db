import Foundation
import Testing
import TransferModel
import TransferWire

@testable import TransferHTTP

@Suite struct URLComponentsRequestTests {
    /// Returns the URL that a task with these components fetches, or the fault in them.
    private static func result(_ components: String) throws -> String {
        let task = #"{"components": \#(components)}"#
        var errors: [FieldError] = []
        var hosts = HostKeys()
        let request: TaskRequest
        do throws(WireDecoder.Failure) {
            request = try WireDecoder.decode(TaskRequest.self, from: Array(task.utf8))
        } catch {
            guard case .invalid(let error) = error else { throw error }
            return "\(error.pointer ?? "") \(error.codeName)"
        }
        let submission = request.submission(id: TaskID(.version7()), hosts: &hosts, into: &errors)
        return submission?.url
            ?? errors.map { "\($0.pointer ?? "") \($0.codeName)" }.joined(separator: ", ")
    }

    private static func query(_ items: String) throws -> String {
        try result(#"{"scheme": "https", "host": "h", "path": "/", "query_items": [\#(items)]}"#)
    }

    @Test(arguments: [
        (#"{"name": "a b", "value": "c d"}"#, "a%20b=c%20d"),
        (#"{"name": "a+b", "value": "c+d"}"#, "a%2Bb=c%2Bd"),
        (#"{"name": "a&b", "value": "c&d"}"#, "a%26b=c%26d"),
        (#"{"name": "a=b", "value": "c=d"}"#, "a%3Db=c%3Dd"),
        (#"{"name": "%41", "value": "100%"}"#, "%2541=100%25"),
        (#"{"name": "é😀", "value": "日本"}"#, "%C3%A9%F0%9F%98%80=%E6%97%A5%E6%9C%AC"),
        (#"{"name": "a", "value": "é"}, {"name": "a", "value": "e\u0301"}"#, "a=%C3%A9&a=e%CC%81"),
        (#"{"name": "k", "value": "2"}, {"name": "k", "value": "1"}"#, "k=2&k=1"),
        (#"{"name": "flag", "value": null}"#, "flag"),
        (#"{"name": "flag"}"#, "flag"),
        (#"{"name": "k", "value": ""}"#, "k="),
        (#"{"name": ""}"#, ""),
        (#"{"name": "", "value": ""}"#, "="),
        ("", ""),
        (#"{"name": "a", "value": "[]#\"<>\\^`{|}"}"#, "a=%5B%5D%23%22%3C%3E%5C%5E%60%7B%7C%7D"),
        (#"{"name": "a", "value": "\u0000\r\n\u007f"}"#, "a=%00%0D%0A%7F"),
        (#"{"name": "a", "value": "!$'()*,;:@/?-._~"}"#, "a=!$'()*,;:@/?-._~"),
    ])
    func queryItemsArriveAsTheyWere(items: String, query: String) throws {
        #expect(try Self.query(items) == "https://h/?\(query)")
    }

    @Test(arguments: [
        (#"{"scheme": "http", "host": "h"}"#, "http://h"),
        (#"{"scheme": "HTTPS", "host": "A.example", "port": 8443}"#, "HTTPS://A.example:8443"),
        (#"{"scheme": "http", "host": "h", "port": null, "path": null}"#, "http://h"),
        (#"{"scheme": "http", "host": "h", "query_items": [{"name": "f"}]}"#, "http://h?f"),
        (#"{"scheme": "http", "host": "::1", "path": "/"}"#, "http://[::1]/"),
        (#"{"scheme": "http", "host": "[2001:db8::1]", "port": 1}"#, "http://[2001:db8::1]:1"),
        (#"{"scheme": "http", "host": "1.2.3.4", "path": "/"}"#, "http://1.2.3.4/"),
        (#"{"scheme": "http", "host": "B\u00fccher.example"}"#, "http://xn--bcher-kva.example"),
        (#"{"scheme": "http", "host": "xn--bcher-kva.example"}"#, "http://xn--bcher-kva.example"),
        (#"{"scheme": "http", "host": "\u4f8b\u3048.jp", "port": 1}"#, "http://xn--r8jz45g.jp:1"),
        // What is an address is one, and is checked as such.
        (#"{"scheme": "http", "host": "\uff11\uff12\uff17.0.0.1"}"#, "http://127.0.0.1"),
        (
            #"{"scheme": "http", "host": "h", "path": "/a b/é?#%41"}"#,
            "http://h/a%20b/%C3%A9%3F%23%2541"
        ),
        (
            #"{"scheme": "http", "host": "h", "path": "/a;b=c,d+e&f:@!$'()*"}"#,
            "http://h/a;b=c,d+e&f:@!$'()*"
        ),
        (#"{"scheme": "http", "host": "h", "path": "//x/../y"}"#, "http://h//x/../y"),
        (#"{"scheme": "http", "host": "h", "path": "/\u0301"}"#, "http://h/%CC%81"),
    ])
    func partsMakeAURL(components: String, url: String) throws {
        #expect(try Self.result(components) == url)
    }

    @Test(arguments: [
        (#"{"host": "h"}"#, "/components/scheme required"),
        (#"{"scheme": "http"}"#, "/components/host required"),
        (#"{"scheme": "http", "host": "h", "user": "u"}"#, "/components/user unknown_field"),
        (#"{"scheme": "http", "host": "h", "port": "80"}"#, "/components/port wrong_type"),
        (
            #"{"scheme": "http", "host": "h", "query_items": {"a": "b"}}"#,
            "/components/query_items wrong_type"
        ),
        (
            #"{"scheme": "http", "host": "h", "query_items": [{"value": "b"}]}"#,
            "/components/query_items/0/name required"
        ),
        (
            #"{"scheme": "http", "host": "h", "query_items": [{"name": "b", "value": 1}]}"#,
            "/components/query_items/0/value wrong_type"
        ),
        (#"{"scheme": "ftp", "host": "h"}"#, "/components/scheme invalid_url"),
        (#"{"scheme": "http://x/?", "host": "h"}"#, "/components/scheme invalid_url"),
        (#"{"scheme": "http", "host": "h", "path": "a"}"#, "/components/path invalid_url"),
        (#"{"scheme": "http", "host": "h", "port": 0}"#, "/components/port invalid_url"),
        (#"{"scheme": "http", "host": "h", "port": 65536}"#, "/components/port invalid_url"),
        (
            #"{"scheme": "x", "host": "", "path": "a", "port": -1}"#,
            "/components/scheme invalid_url, /components/port invalid_url, "
                + "/components/path invalid_url, /components/host invalid_url"
        ),
    ])
    func faultsAreToldWithTheirPlace(components: String, faults: String) throws {
        #expect(try Self.result(components) == faults)
    }

    @Test(arguments: [
        "", "h:80", "a:80", "1.2.3.4:80", "h/", "h?a", "h#a", "u@h", "u:p@h", "h\\\\@x", "h h",
        "h%2fx", "[::1", "::1]",
        "[::1]:80", "[h]", "h\\r\\nX: y", "h\\u0000", "fe80::1%25eth0", "[]",
        // Characters that become more than a name: a slash, a number sign, an at sign.
        "é/x", "é@h", "é:80", "é%2fx", "é h", "a\\u200db", "a\\uff0fb", "a\\u2100b", "a\\uff03b",
        "a\\uff20b",
    ])
    func aHostThatIsMoreThanAHostIsRefused(host: String) throws {
        let components = #"{"scheme": "http", "host": "\#(host)", "path": "/"}"#
        #expect(try Self.result(components) == "/components/host invalid_url")
    }

    @Test func aURLStandsAloneAndIsBounded() throws {
        var errors: [FieldError] = []
        var hosts = HostKeys()
        func fault(_ body: String) throws -> WireDecoder.Failure? {
            do throws(WireDecoder.Failure) {
                _ = try WireDecoder.decode(TaskRequest.self, from: Array(body.utf8))
                    .submission(id: TaskID(.version7()), hosts: &hosts, into: &errors)
                return nil
            } catch {
                return error
            }
        }
        let parts = #"{"scheme": "http", "host": "h"}"#
        let both = try fault(#"{"url": "http://h/", "components": \#(parts)}"#)
        guard case .invalid(let error) = both else {
            Issue.record("\(String(describing: both))")
            return
        }
        #expect(error.pointer == "/components")
        #expect(try fault(#"{"url": null, "components": \#(parts)}"#) == nil)
        #expect(try fault(#"{"url": "http://h/", "components": null}"#) == nil)
        #expect(errors.isEmpty)
        let long = String(repeating: "%", count: 2731)
        let path = #"{"scheme": "http", "host": "h", "path": "/\#(long)"}"#
        #expect(try Self.result(path) == "/components invalid_url")
    }

    @Test func agreesWithFoundationButForThePlus() throws {
        let pieces =
            (0x01...0x7F).compactMap { Unicode.Scalar($0).map { String($0) } }
            + ["é", "e\u{301}", "😀", "\u{FFFF}"]
        for piece in pieces where piece != "+" {
            var expected = URLComponents()
            expected.scheme = "https"
            expected.host = "h"
            expected.path = "/\(piece)"
            expected.queryItems = [
                URLQueryItem(name: piece, value: piece), URLQueryItem(name: piece, value: nil),
            ]
            let text = String(decoding: try JSONEncoder().encode(piece), as: UTF8.self)
            let path = String(decoding: try JSONEncoder().encode("/\(piece)"), as: UTF8.self)
            let found = try Self.result(
                #"""
                {"scheme": "https", "host": "h", "path": \#(path), "query_items":
                [{"name": \#(text), "value": \#(text)}, {"name": \#(text)}]}
                """#
            )
            #expect(found == expected.string)
        }
    }
}
