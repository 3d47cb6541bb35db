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
    ],
    dependencies: [
        // HMAC and SHA-2 for signatures.
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0")
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
    ]
)
