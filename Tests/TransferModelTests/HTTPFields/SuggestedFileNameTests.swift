import Testing
import TransferModel

@Suite struct SuggestedFileNameTests {
    private static func name(_ disposition: String?, url: String = "https://h/") -> String? {
        SuggestedFileName.of(contentDisposition: disposition, url: url)
    }

    /// Returns whether two names are equal scalar by scalar: `String` would treat NFC and NFD as
    /// equal.
    private static func isSame(_ left: String?, _ right: String?) -> Bool {
        left.map { Array($0.utf8) } == right.map { Array($0.utf8) }
    }

    @Test(
        arguments: [
            (#"attachment; filename=a.txt"#, "a.txt"),
            (#"attachment; filename="a b.txt""#, "a b.txt"),
            (#"ATTACHMENT ; FILENAME = "A.TXT""#, "A.TXT"),
            (#"inline;filename="a\"b\c.txt";"#, "a\"bc.txt"),
            (#"attachment; size=1; filename="a.txt"; x*=y"#, "a.txt"),
            (#"attachment; filename="a%20b.txt""#, "a%20b.txt"),
            (#"attachment; filename="€ é.txt""#, "€ é.txt"),
            (#"attachment; filename*=UTF-8''%e2%82%ac%20rates.txt"#, "€ rates.txt"),
            (#"attachment; filename*=utf-8'de-DE'a%2520b"#, "a%20b"),
            (#"attachment; filename*=iso-8859-1'en'%A3%20rates"#, "£ rates"),
            (#"attachment; filename="plain"; filename*=UTF-8''better"#, "better"),
            (#"attachment; filename*=UTF-8''better; filename="plain""#, "better"),
            (#"attachment; filename*=UTF-8''e%CC%81"#, "e\u{301}"),
            ("attachment; filename=\"e\u{301}\"", "e\u{301}"),
            // What encodeURIComponent leaves as it is.
            (#"attachment; filename="a"; filename*=UTF-8''b%20(1).txt"#, "b (1).txt"),
            (#"attachment; filename*=UTF-8''it's!*.txt ; size=1"#, "it's!*.txt"),
        ]
    )
    func readsTheNameThatTheHeaderGives(disposition: String, name: String) {
        #expect(Self.isSame(Self.name(disposition), name), "\(Self.name(disposition) ?? "nil")")
    }

    @Test(arguments: [
        // Overlong, truncated and surrogate UTF-8; broken escapes; unknown charset; bad syntax.
        "UTF-8''%c0%ae%c0%ae%c0%af", "UTF-8''%e2%82", "UTF-8''%ed%a0%80", "UTF-8''%zz",
        "UTF-8''%e", "utf-16''%00a", "''a", "UTF-8'a", "UTF-8''a b", "UTF-8''a/b", "UTF-8''é",
        "\"UTF-8''a\"", "a", "",
    ])
    func anExtendedValueThatIsBrokenIsPassedOver(value: String) {
        #expect(Self.name("attachment; filename*=\(value); filename=plain") == "plain")
        #expect(Self.name("attachment; filename*=\(value)") == nil)
    }

    @Test(arguments: [
        "", ";", "filename=a", "attachment", "attachment; filename", "attachment; filename=",
        "attachment; filename=a b", "attachment; filename=../../etc/passwd",
        "attachment; filename=\"a", "attachment; filename=\"a\\", "attachment; filename=\"a\"b",
        "attachment; filename=é", "attachment filename=a", "attachment, filename=a",
        "attachment; filename=a; filename=b", "attachment; filename*=UTF-8''a; FILENAME*=UTF-8''b",
        "attachment; filename*=\"UTF-8''a", "attachment; filename*=UTF-8''a\"; filename=b",
        "attachment; filename=\"a\u{0}b\"", "attachment; filename=\"a\r\nb\"",
    ])
    func aHeaderThatIsNotOneGivesWayToTheURL(disposition: String) {
        #expect(Self.name(disposition) == nil)
        #expect(Self.name(disposition, url: "http://h/u.bin") == "u.bin")
    }

    @Test(
        arguments: [
            ("http://h/a/b.txt", "b.txt"), ("http://h/a%20b.txt?x=/y#/z", "a b.txt"),
            ("http://h/%25%32%65", "%2e"), ("http://h/%252e%252e%252fa", "%2e%2e%2fa"),
            ("http://h/a%2fb%5Cc.txt", "c.txt"), ("http://h/%C3%A9", "é"),
            ("http://h:80/@:x", "@:x"), ("http://h/..", nil), ("http://h/%2e%2e", nil),
            ("http://h/%2e%2e%2f", nil), ("http://h/..%2f..%2fetc%2fpasswd", "passwd"),
            ("http://h/%c0%ae%c0%ae%c0%afpasswd", nil), ("http://h/%ff", nil),
            ("http://h/100%", nil), ("http://h/a%00b.txt", "b.txt"), ("http://h/a/", nil),
            ("http://h/", nil), ("http://h.example", nil), ("http://h?/a", nil), ("", nil),
            ("a.txt", nil), ("mailto:a", nil),
        ] as [(String, String?)]
    )
    func elseTheURLGivesTheName(url: String, name: String?) {
        #expect(Self.name(nil, url: url) == name)
    }

    @Test(
        arguments: [
            // Traversal and separators.
            ("../../etc/passwd", "passwd"), (#"..\\..\\boot.ini"#, "boot.ini"), ("a/..", nil),
            ("/etc/passwd", "passwd"), ("..", nil), (".", nil), ("...", nil), ("/", nil),
            ("/\u{301}a", "a"), ("a/\u{338}b", "b"), ("%2e%2e%2f", "%2e%2e%2f"),
            // Dots and spaces at the ends.
            (".bashrc", "bashrc"), (". .a. .", "a"), ("a.txt...", "a.txt"),
            ("a.txt \u{A0}", "a.txt"),
            (".transferd", "transferd"), ("~", "~"), ("a..b", "a..b"),
            // Direction marks and invisible characters.
            ("cod\u{202E}txt.exe", "codtxt.exe"), ("\u{2066}a\u{2069}", "a"),
            ("a\u{200F}\u{61C}\u{200E}b", "ab"), ("a\u{FEFF}\u{AD}\u{2060}\u{200B}b", "ab"),
            ("a\u{2028}\u{2029}\u{85}\u{9B}b", "ab"), ("a.txt\u{200D}", "a.txt"),
            (".\u{202E}.", nil), ("\u{3164}", nil), ("a\u{FFFF}\u{E0041}", "a"),
            ("👩\u{200D}💻❤\u{FE0F}.png", "👩\u{200D}💻❤\u{FE0F}.png"),
            // Devices.
            ("CON", "_CON"), ("con.txt", "_con.txt"), ("Nul .tar.gz", "_Nul .tar.gz"),
            ("COM1", "_COM1"), ("lpt\u{B3}.x", "_lpt\u{B3}.x"), ("CONIN$", "_CONIN$"),
            ("AUX.", "_AUX"), ("CON\u{202E}", "_CON"), ("COM", "COM"), ("COM10", "COM10"),
            ("console.txt", "console.txt"), ("PRN:", "PRN:"),
        ] as [(String, String?)]
    )
    func theNameIsMadeSafe(name: String, safe: String?) {
        let found = Self.name("attachment; filename=\"\(name)\"")
        #expect(Self.isSame(found, safe), "\(found ?? "nil")")
    }

    @Test(
        arguments: [
            (String(repeating: "a", count: 300), String(repeating: "a", count: 200)),
            (String(repeating: "a", count: 200), String(repeating: "a", count: 200)),
            (
                String(repeating: "a", count: 300) + ".txt",
                String(repeating: "a", count: 196) + ".txt"
            ),
            (
                String(repeating: "é", count: 150) + ".txt",
                String(repeating: "é", count: 98) + ".txt"
            ),
            ("a" + String(repeating: "é", count: 150), "a" + String(repeating: "é", count: 99)),
            // The family of 25 bytes is cut off whole.
            (String(repeating: "a", count: 190) + "👨‍👩‍👧‍👦", String(repeating: "a", count: 190)),
            // A single character that is too long loses marks.
            (
                "e" + String(repeating: "\u{301}", count: 300),
                "e" + String(repeating: "\u{301}", count: 99)
            ),
            ("a." + String(repeating: "x", count: 300), "a." + String(repeating: "x", count: 198)),
            (
                "CON" + "x" + String(repeating: "\u{301}", count: 300) + ".txt", "_CON.txt"
            ),
            (
                "CON." + String(repeating: "x", count: 196),
                "_CON." + String(repeating: "x", count: 195)
            ),
            (
                String(repeating: "a", count: 199) + ". b",
                String(repeating: "a", count: 197) + ". b"
            ),
        ]
    )
    func aLongNameIsCutBetweenCharactersAndKeepsItsExtension(name: String, short: String) {
        let found = Self.name("attachment; filename=\"\(name)\"")
        #expect(Self.isSame(found, short), "\(found ?? "nil")")
    }

    @Test func everyNameCanBeADestination() {
        var generator = SystemRandomNumberGenerator()
        let pieces = [
            ".", "..", "/", "\\", " ", "a", "CON", "NUL", "é", "\u{301}", "\u{202E}", "\u{200D}",
            "😀", "%2e", "\u{7F}", "\u{FEFF}", ".txt", "COM¹", String(repeating: "x", count: 90),
        ]
        for _ in 0..<2000 {
            let count = Int.random(in: 0...12, using: &generator)
            let name = (0..<count).map { _ in pieces.randomElement(using: &generator) ?? "" }
                .joined()
            let url =
                "http://h/"
                + name.utf8.map { byte in
                    let digits = String(byte, radix: 16)
                    return "%" + (digits.utf8.count == 1 ? "0" : "") + digits
                }.joined()
            guard let found = Self.name(nil, url: url) else { continue }
            #expect(Destination(path: found, overwrite: false)?.path == found, "\(url)")
            #expect(!found.hasPrefix(".") && !found.hasSuffix(".") && !found.hasSuffix(" "))
            #expect(!found.utf8.contains(UInt8(ascii: "/")))
        }
    }
}
