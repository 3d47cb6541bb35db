import Testing
import TransferModel
import TransferWire

@testable import TransferHTTP

@Suite struct WebURLTests {
    @Test(arguments: [
        ("http://a", "a", 80), ("HTTPS://A.example/", "A.example", 443),
        ("http://a:8080?x", "a", 8080), ("http://a#f", "a", 80),
        ("http://[::1]:81/", "::1", 81), ("https://[2001:db8::1]", "2001:db8::1", 443),
        ("http://1.2.3.4/%00", "1.2.3.4", 80), ("http://a_b-c.d/@:x", "a_b-c.d", 80),
        ("http://a/?q=http://u@b/", "a", 80), ("http://a.example./", "a.example.", 80),
    ])
    func takesWebAddresses(text: String, host: String, port: Int) {
        let url = WebURL(text)
        #expect(url?.host == host)
        #expect(url?.port == port)
    }

    @Test(arguments: [
        "", "http:", "http:/a", "http://", "http:///a", "http://:80/", "//a/", "a", "ftp://a/",
        "file:///a", "javascript:x", "http://u@a/", "http://u:p@a/", "http://@a/",
        "http://a:0/", "http://a:65536/", "http://a:/", "http://a:8x/", "http://a:80:80/",
        "http://a b/", "http://a/ b", " http://a/", "http://a/\t", "http://a/\n", "http://a/\u{0}",
        "http://a/\u{7F}", "http://a\\b/", "http://a/\\", "http://é/", "http://a/é",
        "http://[::1/", "http://[]/", "http://[a]/", "http://[::1]x/", "http://[fe80::1%25eth0]/",
        "http://127.0.0.1./", "http://127.1.:80/", "http://0x7f000001./",
        "http://a%2eb/", "http://a,b/", "httpx://a/", "http\u{3A}\u{301}//a",
    ])
    func refusesWhatParsersDisagreeOver(text: String) {
        #expect(WebURL(text) == nil)
    }

    @Test(arguments: [
        ("http://a/ b", "a space as byte 10, which must be percent-encoded, as `%20`."),
        ("http://a/é", "not ASCII as byte 10, which must be percent-encoded."),
        ("http://é/", "as byte 8, which a host has in Punycode"),
        ("http://é?é", "as byte 8, which a host has in Punycode"),
        ("é", "byte 1, which must be"),
        ("http://a b/", "a space as byte 9, which no host has"),
        ("http://a\\b/", "a backslash"), ("http://a/\t", "a control character"),
        ("ftp://a/", "begin with http"), ("http://u:p@a/", "`credential`"),
        ("http:///a", "no host"), ("http://127.0.0.1./", "a dot behind it"),
        ("http://a:0/", "a port is from 1"), ("http://a,b/", "letters, digits"),
    ])
    func saysWhatIsWrongAndNeverWhatWasSent(text: String, part: String) {
        #expect(WebURL(text) == nil)
        let fault = URLRule.fault(of: text)
        #expect(fault.contains(part), "\(fault)")
        #expect(!fault.contains(text))
    }

    @Test func saysWhichBoundIsBroken() {
        let long = String(repeating: "a", count: 9000)
        #expect(URLRule.fault(of: "http://a/\(long)").contains("9009 bytes"))
        #expect(URLRule.fault(of: "http://\(long.prefix(300))/").contains("300 characters"))
        #expect(URLRule.fault(of: "http://a/#f", allowsFragment: false).contains("fragment"))
    }

    @Test func aHostHasNoMoreBytesThanAName() {
        let label = String(repeating: "a", count: 252)
        #expect(WebURL("http://\(label)b/")?.host.utf8.count == 253)
        #expect(WebURL("http://\(label)bc/") == nil)
    }

    @Test func fragmentsMayBeForbidden() {
        #expect(WebURL("http://a/#f", allowsFragment: false) == nil)
        #expect(WebURL("http://a/?f", allowsFragment: false) != nil)
    }

    @Test func tasksForOneHostShareALane() throws {
        var errors: [FieldError] = []
        var hosts = HostKeys()
        func hostKey(_ url: String) throws -> HostKey? {
            let body = Array(#"{"url": "\#(url)"}"#.utf8)
            return try WireDecoder.decode(TaskRequest.self, from: body)
                .submission(id: TaskID(.version7()), hosts: &hosts, into: &errors)?.hostKey
        }
        #expect(try hostKey("http://A.example/1") == hostKey("http://a.EXAMPLE:80/2"))
        #expect(try hostKey("http://a.example/") != hostKey("https://a.example/"))
        #expect(errors.isEmpty)
    }
}
