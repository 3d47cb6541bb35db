import Crypto
import Foundation
import NIOCore

/// The files of the page at `/`, read once: what is served never comes from a path of a request.
package struct PageFiles: Sendable {
    /// One of the files, as it is sent.
    struct File: Sendable {
        let body: ByteBuffer
        let mediaType: String
        /// A strong validator: a digest of the bytes.
        let etag: String
    }

    /// The name of the file that `/` answers.
    static let indexName = "index.html"

    private static let mediaTypes = [
        "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
    ]

    private let files: [String: File]

    /// An error that says that the folder is not that of the page.
    package struct NoPage: Error, CustomStringConvertible {
        package let description: String
    }

    /// Reads the files of a folder; those of an unknown type are left out.
    ///
    /// - Throws: ``NoPage`` if the folder cannot be read or has no `index.html`.
    package init(folder: String) throws {
        var files: [String: File] = [:]
        do {
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
                let type = URL(filePath: name).pathExtension
                guard let mediaType = Self.mediaTypes[type] else { continue }
                let bytes = Array(try Data(contentsOf: URL(filePath: "\(folder)/\(name)")))
                files[name] = File(
                    body: ByteBuffer(bytes: bytes),
                    mediaType: mediaType,
                    etag: Self.etag(of: bytes)
                )
            }
        } catch {
            throw NoPage(description: "\(folder) cannot be read: \(error)")
        }
        guard files[Self.indexName] != nil else {
            throw NoPage(description: "\(folder) has no \(Self.indexName)")
        }
        self.files = files
    }

    /// Returns the file with this name, or nil when there is none.
    func file(named name: String) -> File? { files[name] }

    private static func etag(of bytes: [UInt8]) -> String {
        "\"\(Data(SHA256.hash(data: bytes).prefix(16)).base64EncodedString())\""
    }
}
