import Testing

@testable import Curl

@Suite
struct CurlLibraryTests {
    @Test func numberAndTextOfVersionAgree() {
        let library = CurlLoop.libraryVersion
        let number = library.number
        #expect(library.version.hasPrefix("\(number.major).\(number.minor).\(number.patch)"))
    }

    @Test func versionsCompareByNumber() {
        let versions: [CurlLibrary.Version] = [
            .init(7, 88, 1), .init(8, 0, 0), .init(8, 1, 9), .init(8, 2, 0), .init(8, 10, 0),
        ]
        #expect(versions == versions.reversed().sorted())
        #expect(CurlLibrary.Version(packed: 0x07_58_01) == versions[0])
    }

    @Test func http2IsSoundFromItsLastCorrectionOn() {
        #expect(!CurlLibrary.isHTTP2Sound(.init(7, 88, 1)))
        #expect(!CurlLibrary.isHTTP2Sound(.init(8, 1, 2)))
        #expect(CurlLibrary.isHTTP2Sound(.init(8, 2, 0)))
        #expect(CurlLibrary.isHTTP2Sound(.init(9, 0, 0)))
    }
}
