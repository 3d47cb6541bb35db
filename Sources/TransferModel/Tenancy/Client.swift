package import Foundation

/// Names a client of a tenant.
package struct ClientID: Hashable, Sendable, CustomStringConvertible {
    /// 1 to ``bytesMax`` letters, digits, dots, hyphens and underscores, as a bundle identifier.
    package let name: String
    package static let bytesMax = 64

    /// The one that every tenant has.
    package static let `default` = ClientID(stored: "default")

    /// Nil for what cannot be a name, so that no name has to be escaped anywhere.
    package init?(_ name: String) {
        guard (1...Self.bytesMax).contains(name.utf8.count),
            name.utf8.allSatisfy(Self.isNameByte)
        else { return nil }
        self.name = name
    }

    /// Takes back what the database holds.
    package init(stored name: String) { self.name = name }

    package var description: String { name }

    /// Nil for the one that needs no word.
    package var nameInLinks: String? { self == .default ? nil : name }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "._-".utf8.contains(byte)
        }
    }
}

/// An app of a tenant, or an extension of one, as URLSession knows them.
package struct Client: Sendable {
    /// What it is; never changes.
    package enum Kind: String, CaseIterable, Sendable {
        case app
        /// Lives shortly, and leaves its sessions to an app.
        case `extension`
    }

    /// Where it is in its life; the raw value is the one in the API and in the database.
    package enum Lifecycle: String, CaseIterable, Sendable {
        case active
        case background
        /// Not running, and woken by webhooks, as one that is `terminated`: its tasks go on.
        case suspended
        case terminated
        /// Ended by a person: its tasks were cancelled, and nothing wakes it before its launch.
        case forceQuit = "force_quit"

        package var isRunning: Bool { self == .active || self == .background }
    }

    package let id: ClientID
    package let kind: Kind
    package let lifecycle: Lifecycle
    package let lifecycleChangedAt: Date
    package let createdAt: Date

    package init(
        id: ClientID,
        kind: Kind,
        lifecycle: Lifecycle,
        lifecycleChangedAt: Date,
        createdAt: Date
    ) {
        self.id = id
        self.kind = kind
        self.lifecycle = lifecycle
        self.lifecycleChangedAt = lifecycleChangedAt
        self.createdAt = createdAt
    }
}
