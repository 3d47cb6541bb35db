import Foundation
import TransferModel
import TransferSecrets

/// Seals what is secret in a row before it reaches the database, and opens it again.
///
/// Without a key, values are stored as they are; such values are also read once there is a key,
/// except the secrets and access tokens of credentials (``requireSealed(_:at:)``). A sealed value
/// says so itself, in a form that the plain one cannot have, so that neither columns nor statements
/// differ.
struct RowSealer: Sendable {
    /// The column, tenant and row to which a sealed value is bound.
    struct Place {
        let purpose: SecretBox.Purpose
        let tenant: TenantID
        /// The name that the row has from its creation on, and for the secrets of a credential
        /// also what they are for.
        let row: [UInt8]

        init(_ purpose: SecretBox.Purpose, of tenant: TenantID, in row: UUID) {
            self.init(purpose, of: tenant, in: withUnsafeBytes(of: row.uuid) { Array($0) })
        }

        init(_ purpose: SecretBox.Purpose, of tenant: TenantID, in row: [UInt8]) {
            self.purpose = purpose
            self.tenant = tenant
            self.row = row
        }
    }

    let box: SecretBox?

    /// The start of sealed bytes among plain ones.
    ///
    /// A byte zero follows before plain bytes that start alike, and the version of ``SecretBox``
    /// before sealed ones.
    static let marker = Array("\u{0}sealed\u{0}".utf8)
    /// The bytes that a sealed value in a column of bytes has beyond the value.
    static let overhead = Int64(marker.count + SecretBox.overhead)

    /// Returns `bytes` as they are stored.
    func seal(_ bytes: [UInt8], at place: @autoclosure () -> Place) throws(StoreError) -> [UInt8] {
        guard box != nil else {
            return bytes.starts(with: Self.marker) ? Self.marker + [0] + bytes : bytes
        }
        return Self.marker + (try sealed(bytes, at: place()))
    }

    /// Returns the bytes that were stored as `stored`.
    func open(_ stored: [UInt8], at place: @autoclosure () -> Place) throws(StoreError) -> [UInt8] {
        guard stored.starts(with: Self.marker) else { return stored }
        let rest = Array(stored.dropFirst(Self.marker.count))
        if rest.first == 0 { return Array(rest.dropFirst()) }
        return try opened(rest, at: place())
    }

    /// Whether stored bytes are sealed, and neither plain nor marked as plain.
    static func isSealed(_ stored: [UInt8]) -> Bool {
        stored.starts(with: marker) && stored.dropFirst(marker.count).first != 0
    }

    /// Returns the number of plain bytes in a column of `count` bytes that starts with `start`.
    static func plainCount(_ count: Int64, startingWith start: [UInt8]) -> Int64 {
        guard start.starts(with: marker) else { return count }
        return start.dropFirst(marker.count).first == 0
            ? count - Int64(marker.count + 1) : count - overhead
    }

    /// Returns a URL as it is stored: its query and fragment are sealed and stand, after a space,
    /// which no URL has, in the place of the query.
    ///
    /// Costs one look at the bytes of a URL that has neither.
    func seal(url: String, at place: @autoclosure () -> Place) throws(StoreError) -> String {
        guard box != nil,
            let end = url.utf8.firstIndex(where: {
                $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#")
            })
        else { return url }
        let sealed = try sealed(Array(url.utf8[end...]), at: place())
        return url[..<end] + "? " + Data(sealed).base64EncodedString()
    }

    /// Returns the URL that was stored as `stored`.
    func open(url stored: String, at place: @autoclosure () -> Place) throws(StoreError) -> String {
        guard let space = stored.utf8.firstIndex(of: UInt8(ascii: " ")) else { return stored }
        let start = stored.utf8.index(before: space)
        let text = String(stored[stored.utf8.index(after: space)...])
        return stored[..<start] + String(decoding: try opened(text, at: place()), as: UTF8.self)
    }

    /// Returns headers as JSON text: an array, or if they are sealed a string.
    func seal(
        headers: [HTTPHeader],
        at place: @autoclosure () -> Place
    ) throws(StoreError) -> String {
        let text = try StoredJSON.text(of: headers)
        guard box != nil, !headers.isEmpty else { return text }
        let sealed = try sealed(Array(text.utf8), at: place())
        return "\"\(Data(sealed).base64EncodedString())\""
    }

    /// Returns the headers that were stored as `stored`.
    func open(
        headers stored: String,
        at place: @autoclosure () -> Place
    ) throws(StoreError) -> [HTTPHeader] {
        guard stored.utf8.first == UInt8(ascii: "\"") else { return try StoredJSON.headers(stored) }
        let bytes = try opened(String(stored.dropFirst().dropLast()), at: place())
        return try StoredJSON.headers(String(decoding: bytes, as: UTF8.self))
    }

    private func sealed(_ bytes: [UInt8], at place: Place) throws(StoreError) -> [UInt8] {
        guard let box else { throw StoreError(decoding: "there is no key to seal with") }
        do throws(SecretBox.Failure) {
            return try box.seal(bytes, for: place.purpose, of: place.tenant, in: place.row)
        } catch {
            throw StoreError(decoding: "a \(place.purpose.rawValue) cannot be sealed: \(error)")
        }
    }

    private func opened(_ text: String, at place: Place) throws(StoreError) -> [UInt8] {
        guard let sealed = Data(base64Encoded: text) else {
            throw StoreError(decoding: "a sealed \(place.purpose.rawValue) is no Base64")
        }
        return try opened(Array(sealed), at: place)
    }

    private func opened(_ sealed: [UInt8], at place: Place) throws(StoreError) -> [UInt8] {
        guard let box else {
            throw StoreError(decoding: "a \(place.purpose.rawValue) is sealed, and there is no key")
        }
        do throws(SecretBox.Failure) {
            return try box.open(sealed, for: place.purpose, of: place.tenant, in: place.row)
        } catch {
            throw StoreError(decoding: "a sealed \(place.purpose.rawValue) does not open: \(error)")
        }
    }
}
