import Foundation
import Testing

/// `docs/clients.md` shows only code that is compiled: that of ``GuideCode``.
@Suite struct GuideTests {
    private static let here = URL(filePath: #filePath).deletingLastPathComponent()

    private func lines(_ text: Substring) -> [String] {
        text.split(separator: "\n").map { String($0.drop { $0 == " " }) }
    }

    @Test func showsOnlyCodeThatIsCompiled() throws {
        let guide = try String(
            contentsOf: Self.here.appending(path: "../../docs/clients.md"),
            encoding: .utf8
        )
        let code = try String(
            contentsOf: Self.here.appending(path: "GuideCode.swift"),
            encoding: .utf8
        )
        let compiled = lines(code[...])
        let blocks = guide.matches(of: #/```swift\n((?:.|\n)*?)```/#).map { lines($0.output.1) }
        // The first is a part of a manifest.
        #expect(blocks.first?.first?.hasPrefix("dependencies:") == true)
        #expect(blocks.count == 8)
        for block in blocks.dropFirst() {
            let isThere = compiled.indices.contains { compiled[$0...].starts(with: block) }
            #expect(isThere, "not in GuideCode.swift: \(block.joined(separator: "\n"))")
        }
    }
}
