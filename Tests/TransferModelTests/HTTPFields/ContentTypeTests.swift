import Testing
import TransferModel

@Suite struct ContentTypeTests {
    @Test(
        arguments: [
            ("text/plain; charset=ISO-8859-1", "iso-8859-1"),
            ("text/html;charset=utf-8", "utf-8"),
            (#"text/html ; Charset="UTF-8""#, "utf-8"),
            (#"text/html; charset="iso\-8859\-1""#, "iso-8859-1"),
            ("text/plain; format=flowed; charset=us-ascii;", "us-ascii"),
            ("text/plain; charset=utf-8; charset=UTF-8", "utf-8"),
        ]
    )
    func namesTheCharset(value: String, charset: String) {
        #expect(ContentType(value)?.charset == charset)
    }

    @Test(
        arguments: [
            "text/plain", "text/plain; charset=\"\"", "application/json; x=charset",
            "text/plain; charset=utf-8; charset=latin1",
        ]
    )
    func namesNone(value: String) {
        #expect(ContentType(value) == ContentType("text/plain"))
    }

    @Test(
        arguments: [
            "", "text", "text/", "/plain", "text/plain; charset", "text/plain; charset=",
            "text/plain; charset=a b", "text/plain; charset=\"utf-8", "text/plain, text/html",
            "text/plain; charset = utf-8",
        ]
    )
    func whatBreaksTheGrammarSaysNothing(value: String) {
        #expect(ContentType(value) == nil)
    }
}
