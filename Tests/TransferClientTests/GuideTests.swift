import Foundation
import Testing

/// The documentation of `TransferClient` shows only code that is compiled: that of ``GuideCode``.
@Suite struct GuideTests {
    private static let here = URL(filePath: #filePath).deletingLastPathComponent()
    private static let catalogue = here.appending(
        path: "../../clients/swift/Sources/TransferClient/TransferClient.docc"
    )

    private static func lines(_ text: Substring) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// Whether the lines are there one after the other, each behind the same indentation.
    private static func contains(_ lines: [String], _ block: [String]) -> Bool {
        guard let first = block.first else { return false }
        return lines.indices.contains { start in
            guard lines[start].hasSuffix(first), start + block.count <= lines.count else {
                return false
            }
            let indentation = lines[start].dropLast(first.count)
            guard indentation.allSatisfy({ $0 == " " }) else { return false }
            return zip(lines[start...], block).allSatisfy { line, wanted in
                wanted.isEmpty ? line.isEmpty : line == indentation + wanted
            }
        }
    }

    @Test(arguments: [("TransferClient.md", 1), ("FromURLSession.md", 7), ("Webhooks.md", 3)])
    func showsOnlyCodeThatIsCompiled(_ name: String, count: Int) throws {
        let page = try String(
            contentsOf: Self.catalogue.appending(path: name),
            encoding: .utf8
        )
        let code = try String(
            contentsOf: Self.here.appending(path: "GuideCode.swift"),
            encoding: .utf8
        )
        let blocks = page.matches(of: #/```swift\n((?:.|\n)*?)\n```/#).map(\.output.1)
            // A line of a manifest is no code of a program.
            .filter { !$0.hasPrefix(".package(") }
        #expect(blocks.count == count)
        for block in blocks where !Self.contains(Self.lines(code[...]), Self.lines(block)) {
            Issue.record("not in GuideCode.swift: \(block)")
        }
    }

    @Test func seesWhenABlockDiffers() {
        let code = ["func f() {", "    let a = 1", "", "    g(a)", "}"]
        #expect(Self.contains(code, ["let a = 1", "", "g(a)"]))
        #expect(!Self.contains(code, ["let a = 1", "g(a)"]))
        #expect(!Self.contains(code, ["let a = 1", "", " g(a)"]))
        #expect(!Self.contains(code, ["let a = 1 ", "", "g(a)"]))
    }
}
