import Curl
import Testing

@Suite
struct CurlURLTests {
    @Test(arguments: [
        ("http://Example.com", "http", "Example.com", 80, "http://Example.com/"),
        (
            "HTTPS://example.com:8443/a?b#c", "https", "example.com", 8443,
            "https://example.com:8443/a?b"
        ),
        ("https://[2001:db8::1]/", "https", "[2001:db8::1]", 443, "https://[2001:db8::1]/"),
        ("http://example.com/a b/ü", "http", "example.com", 80, "http://example.com/a%20b/%c3%bc"),
        (
            "http://example.com/%2e%2F?q=%20+", "http", "example.com", 80,
            "http://example.com/%2e%2F?q=%20+"
        ),
        // An empty query is one (RFC 3986, section 6.2.3), which a signature may cover.
        ("http://example.com/a?", "http", "example.com", 80, "http://example.com/a?"),
        ("http://example.com?#c", "http", "example.com", 80, "http://example.com/?"),
        ("http://example.com/a??", "http", "example.com", 80, "http://example.com/a??"),
    ])
    func parses(
        _ string: String,
        scheme: String,
        host: String,
        port: UInt16,
        absoluteString: String
    ) throws {
        let url = try CurlURL(string)
        #expect(url.scheme == scheme)
        #expect(url.host == host)
        #expect(url.port == port)
        #expect(url.absoluteString.lowercased() == absoluteString.lowercased())
        #expect(try CurlURL(url.absoluteString) == url)
    }

    @Test(arguments: [
        "", "example.com", "/path", "//example.com/", "http:", "http:example.com",
        "http:/example.com", "http:///example.com", "http://", "http://user@example.com/",
        "http://user:pass@example.com/", "http://:pass@example.com/", "http://@example.com/",
        "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/",
        "http://exa mple.com/", "http://a\\@b/", "http://example.com:65536/",
        "http://example.com:-1/", "http://example.com:x/", "http://example.com/\r\nX: y",
        "http://example.com/\0", "http://example.com\u{1}/", "javascript://example.com/",
        " http://example.com/", "http://[::1/", "http://exam\nple.com/",
    ])
    func refuses(_ string: String) {
        let error = #expect(throws: CurlError.self) { try CurlURL(string) }
        #expect(error?.code == .unsupportedURL)
    }

    @Test func refusesVeryLongURL() {
        let path = String(repeating: "a", count: CurlURL.lengthMax)
        #expect(throws: CurlError.self) { try CurlURL("http://example.com/\(path)") }
    }

    @Test(arguments: [
        ("/x", "http://example.com:81/x"), ("x", "http://example.com:81/a/x"),
        ("../x?y", "http://example.com:81/x?y"), ("?q", "http://example.com:81/a/b?q"),
        ("//other.example/x", "http://other.example/x"),
        ("https://other.example/x", "https://other.example/x"),
        ("a b", "http://example.com:81/a/a%20b"),
        ("//b\u{FC}cher.test/x", "http://xn--bcher-kva.test/x"),
        // No fragment is sent; a space in one would not be encoded.
        ("https://other.example/x#a b", "https://other.example/x"),
        ("/x#a b", "http://example.com:81/x"), ("#a", "http://example.com:81/a/b?c"),
        ("", "http://example.com:81/a/b?c"), ("?", "http://example.com:81/a/b?"),
        ("/x?#a", "http://example.com:81/x?"),
    ])
    func resolvesLocation(_ location: String, to expected: String) throws {
        let base = try CurlURL("http://example.com:81/a/b?c")
        #expect(try base.resolving(location).absoluteString == expected)
    }

    @Test(arguments: [
        "ftp://other.example/", "file:///etc/passwd", "//user@other.example/",
        "http://user:pass@other.example/", "javascript:alert(1)", "/x\0y", "http://a\\@b/",
    ])
    func refusesLocation(_ location: String) throws {
        let base = try CurlURL("http://example.com/a/b")
        let result = Result { () throws(CurlError) in try base.resolving(location) }
        // A Location without an authority is a path, whatever it looks like.
        if case .success(let url) = result { #expect(url.isSameOrigin(as: base)) }
    }

    /// libcurl would find a host in each of them, other parsers another one or none.
    @Test(arguments: [
        "http:///small", "http:/small", "http:small", "HTTPS:/small", "https:///small/x",
        "https:////small", "///small", "////small",
    ])
    func refusesLocationWhoseHostIsNotBehindTwoSlashes(_ location: String) throws {
        let base = try CurlURL("http://example.com/a/b")
        let error = #expect(throws: CurlError.self) { try base.resolving(location) }
        #expect(error?.code == .unsupportedURL)
    }

    @Test(arguments: [
        ("/http:/x", "http://example.com/http:/x"), ("./http:/x", "http://example.com/a/http:/x"),
        ("x/http:///y", "http://example.com/a/x/http:///y"),
        ("?to=http:/x", "http://example.com/a/b?to=http:/x"), (":x", "http://example.com/a/:x"),
        ("/a///b", "http://example.com/a///b"),
    ])
    func aColonOrSlashesInAPathAreNoScheme(_ location: String, expected: String) throws {
        let base = try CurlURL("http://example.com/a/b")
        #expect(try base.resolving(location).absoluteString == expected)
    }

    @Test func comparesOrigins() throws {
        let base = try CurlURL("http://example.com/a")
        #expect(base.isSameOrigin(as: try CurlURL("http://EXAMPLE.com:80/b")))
        #expect(!base.isSameOrigin(as: try CurlURL("https://example.com/a")))
        #expect(!base.isSameOrigin(as: try CurlURL("http://example.com:81/a")))
        #expect(!base.isSameOrigin(as: try CurlURL("http://www.example.com/a")))
    }
}
