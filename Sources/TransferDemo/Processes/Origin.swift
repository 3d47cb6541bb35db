import Hummingbird

/// The server that the service downloads from.
///
/// `/files/{seed}/{size}` streams a ``PseudoRandomFile``; every other path is missing.
enum Origin {
    /// The size limit of a file; no file of the demo is larger.
    private static let fileBytesMax = 1 << 32

    static func add(to router: Router<BasicRequestContext>) {
        router.get("/files/{seed}/{size}") { _, context in
            let seed = try context.parameters.require("seed", as: UInt64.self)
            let size = try context.parameters.require("size", as: Int.self)
            guard (0...fileBytesMax).contains(size) else { throw HTTPError(.badRequest) }
            return response(PseudoRandomFile(seed: seed, byteCount: size))
        }
    }

    /// Returns the path of `file`.
    static func path(of file: PseudoRandomFile) -> String {
        "/files/\(file.seed)/\(file.byteCount)"
    }

    private static func response(_ file: PseudoRandomFile) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "application/octet-stream"],
            body: ResponseBody(contentLength: file.byteCount) { writer in
                for chunk in file.chunks { try await writer.write(ByteBuffer(bytes: chunk)) }
                try await writer.finish(nil)
            }
        )
    }
}
