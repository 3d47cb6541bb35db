import Testing
import TransferModel

@Suite struct CredentialTests {
    @Test func eachKindIsShownInItsField() {
        let secret = Secret("s3cret")
        #expect(
            Credential.Form.bearer.field(showing: secret)
                == HTTPHeader(name: "Authorization", value: "Bearer s3cret")
        )
        // The example of RFC 7617 §2.
        #expect(
            Credential.Form.basic(username: "Aladdin").field(showing: Secret("open sesame"))
                == HTTPHeader(name: "Authorization", value: "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        )
        #expect(
            Credential.Form.header(name: "X-Api-Key").field(showing: secret)
                == HTTPHeader(name: "X-Api-Key", value: "s3cret")
        )
        #expect(Credential.Form.clientCertificate(pem: "").field(showing: secret) == nil)
    }

    @Test(
        arguments: [
            ("Basic realm=\"a b\"", [("Basic", "a b")]),
            ("Bearer", [("Bearer", nil)]),
            ("Negotiate", [("Negotiate", nil)]),
            ("NTLM TlRMTVNTUAAC==, Basic realm=x", [("NTLM", nil), ("Basic", "x")]),
            (
                "Digest realm=\"q\\\"q\", nonce=abc, Bearer realm=\"z\", error=\"x\"",
                [("Digest", "q\"q"), ("Bearer", "z")]
            ),
            (", ,Basic , realm=\"late\"", [("Basic", "late")]),
            ("", []),
            ("\"what\"", []),
            ("Basic realm=\"open", [("Basic", nil)]),
            ("Bearer realm=a=b", [("Bearer", "a")]),
        ] as [(String, [(String, String?)])]
    )
    func challengesAreReadAsFarAsTheyCan(value: String, expected: [(String, String?)]) {
        let challenges = AuthenticationChallenge.challenges(in: value)
        #expect(challenges == expected.map { AuthenticationChallenge(scheme: $0.0, realm: $0.1) })
    }

    @Test func challengesAreBounded() {
        let many = (0..<100).map { "S\($0) realm=x" }.joined(separator: ", ")
        #expect(AuthenticationChallenge.challenges(in: many).count == 8)
        let long = "Basic realm=\"\(String(repeating: "r", count: 256))\""
        #expect(AuthenticationChallenge.challenges(in: long).first?.realm == nil)
    }

    @Test(arguments: [
        ("api", true), ("A.b_c-9", true), ("", false), ("..", false), ("a/b", false), ("ü", false),
        (String(repeating: "a", count: 64), true), (String(repeating: "a", count: 65), false),
    ])
    func aNameFitsIntoAPath(name: String, isName: Bool) {
        #expect(Credential.isName(name) == isName)
        #expect((ClientID(name) != nil) == isName)
    }

    @Test func originsAreComparedWithoutCaseAndWithTheirPort() {
        let origin = Origin(scheme: "HTTPS", host: "Files.Example", port: 443)
        #expect(origin.description == "https://files.example:443")
        #expect(origin != Origin(scheme: "http", host: "files.example", port: 443))
        #expect(Origin(scheme: "http", host: "::1", port: 80).description == "http://[::1]:80")
    }
}
