// swift-tools-version: 6.2
import PackageDescription

let swiftSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "transferd-client",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "StandardWebhooks", targets: ["StandardWebhooks"]),
        .library(name: "TransferWire", targets: ["TransferWire"]),
        .library(name: "TransferClient", targets: ["TransferClient"]),
        .library(name: "TransferURLSession", targets: ["TransferURLSession"]),
        .library(name: "TransferHummingbird", targets: ["TransferHummingbird"]),
    ],
    traits: [
        .trait(
            name: "Hummingbird",
            description: "Webhooks as a route of Hummingbird; without it, that is not resolved."
        )
    ],
    dependencies: [
        // HMAC and SHA-2 for signatures.
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        // HTTP with TLS, streams in both directions and pools of connections.
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        // The buffers of that library, and threads that may wait for a disk.
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        // The reasons why that library could not agree on TLS.
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        // The server of those whose receiver of webhooks is a route of it.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
    ],
    targets: [
        // Signs and verifies webhooks as Standard Webhooks 1.0 says.
        .target(
            name: "StandardWebhooks",
            dependencies: [.product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: swiftSettings
        ),
        // The JSON of `openapi.yaml` as Codable values.
        .target(name: "TransferWire", swiftSettings: swiftSettings),
        // Sessions and tasks that read like URLSession's, and the receiver of webhooks.
        .target(
            name: "TransferClient",
            dependencies: [
                "StandardWebhooks", "TransferWire",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: swiftSettings
        ),
        // Requests by Foundation's URLSession in place of AsyncHTTPClient.
        .target(
            name: "TransferURLSession",
            dependencies: ["TransferClient"],
            swiftSettings: swiftSettings
        ),
        // The receiver of webhooks as a route of Hummingbird; empty without the trait.
        .target(
            name: "TransferHummingbird",
            dependencies: [
                "TransferClient",
                .product(
                    name: "Hummingbird",
                    package: "hummingbird",
                    condition: .when(traits: ["Hummingbird"])
                ),
            ],
            swiftSettings: swiftSettings
        ),
    ]
)
