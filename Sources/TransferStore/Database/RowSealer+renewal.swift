import Foundation
import TransferSecrets

/// Values that a key which does not seal any more has sealed, or none.
extension RowSealer {
    /// Returns bytes as they are to be stored now; nil if they are stored so.
    func renewed(_ stored: [UInt8], at place: Place) throws(StoreError) -> [UInt8]? {
        let isSealed = Self.isSealed(stored)
        guard !isSealed || isOld(Array(stored.dropFirst(Self.marker.count))) else { return nil }
        return try seal(open(stored, at: place), at: place)
    }

    /// Returns a URL as it is to be stored now; nil if it is stored so.
    func renewed(url stored: String, at place: Place) throws(StoreError) -> String? {
        if let space = stored.utf8.firstIndex(of: UInt8(ascii: " ")) {
            let text = String(stored[stored.utf8.index(after: space)...])
            guard isOld(text) else { return nil }
        }
        let url = try seal(url: open(url: stored, at: place), at: place)
        return url == stored ? nil : url
    }

    /// Returns a JSON array of URLs as they are to be stored now; nil if all are stored so.
    func renewed(urls stored: String, at place: Place) throws(StoreError) -> String? {
        let urls = try StoredJSON.decode([String].self, stored)
        let newURLs = try urls.map { url throws(StoreError) in try renewed(url: url, at: place) }
        guard newURLs.contains(where: { $0 != nil }) else { return nil }
        return try StoredJSON.encode(zip(newURLs, urls).map { $0 ?? $1 })
    }

    /// Returns headers as they are to be stored now; nil if they are stored so.
    func renewed(headers stored: String, at place: Place) throws(StoreError) -> String? {
        if stored.utf8.first == UInt8(ascii: "\"") {
            guard isOld(String(stored.dropFirst().dropLast())) else { return nil }
        }
        let headers = try open(headers: stored, at: place)
        return headers.isEmpty ? nil : try seal(headers: headers, at: place)
    }

    private func isOld(_ text: String) -> Bool {
        Data(base64Encoded: text).map { isOld(Array($0)) } ?? true
    }

    private func isOld(_ sealed: [UInt8]) -> Bool { box?.isSealedWithOlderKey(sealed) ?? false }
}
