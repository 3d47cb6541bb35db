import Foundation
import Testing
import TransferTestSupport

/// The code of `docs/clients.md`, as its readers copy it.
enum GuideBlocks {
    /// Returns the blocks in a language, in their order, with other addresses in place of theirs.
    static func all(_ language: String, replacing texts: [String: String]) throws -> [String] {
        let guide = try String(
            contentsOfFile: "\(Checkout.root)/docs/clients.md",
            encoding: .utf8
        )
        let blocks = guide.components(separatedBy: "\n```\(language)\n").dropFirst()
        for text in texts.keys { try #require(blocks.contains { $0.contains(text) }, "\(text)") }
        return blocks.map { block in
            let code = block.components(separatedBy: "\n```\n")[0] + "\n"
            return texts.reduce(code) { $0.replacingOccurrences(of: $1.key, with: $1.value) }
        }
    }
}
