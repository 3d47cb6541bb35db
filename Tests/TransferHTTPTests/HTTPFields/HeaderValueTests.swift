import HTTPTypes
import Testing
import TransferTestSupport

@testable import TransferHTTP

@Suite struct HeaderValueTests {
    private static let names = ["Accept", "If-Match", "Cookie", "X-A", "X-Other"].compactMap {
        HTTPField.Name($0)
    }

    /// A value is what the subscript makes of all fields with the name, in any case.
    @Test func aValueIsThatOfTheSubscript() {
        var random = SeededGenerator(state: 11)
        for _ in 0..<2000 {
            var fields = HTTPFields()
            for number in 0..<Int.random(in: 0..<6, using: &random) {
                guard let name = Self.names.randomElement(using: &random) else { continue }
                let spelled = Bool.random(using: &random) ? name.rawName : name.canonicalName
                guard let name = HTTPField.Name(spelled) else { continue }
                fields.append(HTTPField(name: name, value: number == 0 ? "" : "\(number), a"))
            }
            for name in Self.names { #expect(fields.value(of: name) == fields[name]) }
        }
    }

    @Test(arguments: [("0", 0), ("17", 17), ("", nil), ("5, 5", nil), ("a", nil)])
    func anAnnouncedLengthIsOneNumber(value: String, length: Int?) {
        #expect(([.contentLength: value] as HTTPFields).contentLength == length)
        #expect(HTTPFields().contentLength == nil)
    }
}
