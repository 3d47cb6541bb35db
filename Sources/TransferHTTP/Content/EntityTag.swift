/// The comparison of entity tags (RFC 9110 §8.8.3).
enum EntityTag {
    /// Whether an `If-None-Match` field lists the tag, compared weakly (RFC 9110 §13.1.2).
    static func lists(_ field: String, _ etag: String) -> Bool {
        field.split(separator: ",").map(\.trimmed).contains { tag in
            tag == "*" || tag == etag || tag == "W/\(etag)"
        }
    }
}
