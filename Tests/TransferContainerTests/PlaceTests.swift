import Foundation
import TransferContainer
import TransferModel
import Testing

@Suite struct PlaceTests {
    @Test(arguments: [
        ("a", "", "a"), ("a/b", "/a", "b"), ("a/b/c.part", "/a/b", "c.part"),
        // To Swift one character with the preceding slash, to the kernel two names.
        ("a/\u{301}b", "/a", "\u{301}b"),
    ])
    func isADirectoryOfTheTenantAndAName(path: String, directory: String, name: String) {
        let tenant = TenantID(UUID())
        let place = Container.Place(path, tenant: tenant)
        #expect(Array(place.path.utf8) == Array("\(tenant)/\(path)".utf8))
        #expect(place.directory == "\(tenant)\(directory)")
        #expect(Array(place.name.utf8) == Array(name.utf8))
    }
}
