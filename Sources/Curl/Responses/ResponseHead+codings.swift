extension ResponseHead {
    /// The codings that a request for a coded body offers (RFC 9110, section 12.5.3).
    ///
    /// Those whose decoders need little memory: a body that stays unfinished keeps 0.1 MiB of
    /// deflate's, 16 MiB of brotli's and 128 MiB of zstd's, for whose windows libcurl has no
    /// setting.
    static let codingsOffered = "gzip, deflate"
    /// The names of ``codingsOffered``; a recipient has to know the older one of gzip (RFC 9110,
    /// section 8.4.1.3).
    private static let codingsDecodable = ["gzip", "x-gzip", "deflate"]

    /// The codings that were applied to the body, in that order and in lower case (RFC 9110,
    /// section 8.4), of all fields together.
    var codings: [String] {
        let fields = headers.filter { name, _ in
            name.isEqualIgnoringASCIICase(to: "Content-Encoding")
        }
        return fields.flatMap { _, value in
            value.split { $0 == "," || $0 == " " || $0 == "\t" }.map { $0.lowercased() }
        }.filter { $0 != "identity" }
    }

    /// Whether the body has no coding, or a single one that was offered.
    ///
    /// Libcurl decodes what was not offered too, and up to five codings in a row. What a few bytes
    /// of an outer one become can decode to nothing at all, so that no bound on what arrives is
    /// asked.
    var isDecodable: Bool {
        let codings = codings
        return codings.count <= 1 && codings.allSatisfy(Self.codingsDecodable.contains)
    }

    /// The head of the same response after its body has been decoded: without the fields that
    /// describe the coded body, and without its length.
    var decoded: ResponseHead {
        guard !codings.isEmpty else { return self }
        let ofCoded = ["Content-Encoding", "Content-Length", "Content-Digest", "Repr-Digest"]
        return ResponseHead(
            status: status,
            httpVersion: httpVersion,
            headers: headers.filter { field in
                !ofCoded.contains { field.name.isEqualIgnoringASCIICase(to: $0) }
            }
        )
    }
}
