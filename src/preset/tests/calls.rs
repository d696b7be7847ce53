//! Which preset claims a call, and what the call costs.

use super::*;

#[test]
fn each_call_of_graph_is_claimed_by_the_one_preset_of_its_service() {
    let table: &[(&str, &str, Option<Preset>)] = &[
        ("GET", "/v1.0/me/onenote/notebooks", Some(OneNote)),
        ("GET", "/beta/users/u1/onenote/pages", Some(OneNote)),
        ("GET", "/v1.0/users('u1')/onenote/pages", Some(OneNote)),
        ("GET", "/v1.0/groups/g/OneNote/sections", Some(OneNote)),
        ("GET", "/v1.0/sites/s/OneNote/sections", Some(OneNote)),
        (
            "GET",
            "/v1.0/sites/h:/teams/x:/onenote/pages",
            Some(OneNote),
        ),
        ("GET", "/v1.0/groups/g/sites/s/onenote/pages", Some(OneNote)),
        ("GET", "/me/onenote/pages", Some(OneNote)),
        ("GET", "/v1.0/users/a:/onenote/pages", Some(OneNote)),
        ("GET", "/v1.0/me/drive/root:/onenotes.txt", Some(SharePoint)),
        (
            "GET",
            "/v1.0/me/drive/root:/onenote/a.txt:/content",
            Some(SharePoint),
        ),
        ("GET", "/v1.0/sites/h:/onenote/notes", Some(SharePoint)),
        (
            "GET",
            "/v1.0/sites/h%3A/onenote/notes%3A/lists",
            Some(SharePoint),
        ),
        ("GET", "/v1.0/sites", Some(SharePoint)),
        ("GET", "/v1.0/drives/d/items/i", Some(SharePoint)),
        ("GET", "/v1.0/shares/s/driveItem", Some(SharePoint)),
        (
            "PUT",
            "/v1.0/groups/g/drive/items/i/content",
            Some(SharePoint),
        ),
        ("GET", "/v1.0/me/messages", Some(Outlook)),
        ("POST", "/v1.0/me/sendMail", Some(Outlook)),
        (
            "GET",
            "/v1.0/users/a@b.example/mailFolders/inbox/messages",
            Some(Outlook),
        ),
        (
            "GET",
            "/v1.0/users(userPrincipalName='a')/calendarView",
            Some(Outlook),
        ),
        (
            "GET",
            "/v1.0/me/reminderView(startDateTime='a',endDateTime='b')",
            Some(Outlook),
        ),
        ("GET", "/v1.0/groups/g/threads", Some(Outlook)),
        ("GET", "/v1.0/places/p", Some(Outlook)),
        (
            "POST",
            "/v1.0/teams/t/channels/c/messages",
            Some(TeamsChannelPosts),
        ),
        (
            "POST",
            "/v1.0/teams('t')/channels('c')/messages",
            Some(TeamsChannelPosts),
        ),
        (
            "POST",
            "/v1.0/teams/t/channels/19:x@thread.tacv2/messages/m/replies",
            Some(TeamsChannelPosts),
        ),
        (
            "post",
            "/v1.0/teams/t/primaryChannel/messages",
            Some(TeamsChannelPosts),
        ),
        (
            "GET",
            "/v1.0/teams/t/channels/c/messages",
            Some(TeamsConversations),
        ),
        (
            "POST",
            "/v1.0/teams/t/channels/c/messages/m/softDelete",
            Some(TeamsConversations),
        ),
        (
            "GET",
            "/v1.0/teams/t/channels/c/members",
            Some(TeamsConversations),
        ),
        ("GET", "/v1.0/teams/t/channels", Some(TeamsConversations)),
        ("POST", "/v1.0/chats/c/messages", Some(TeamsConversations)),
        ("GET", "/v1.0/me/chats/c/messages", Some(TeamsConversations)),
        (
            "POST",
            "/v1.0/chats/c/sendActivityNotification",
            Some(TeamsConversations),
        ),
        ("POST", "/v1.0/chats/c/members", Some(TeamsMembers)),
        (
            "DELETE",
            "/v1.0/teams/t/channels/c/members/m",
            Some(TeamsMembers),
        ),
        ("POST", "/v1.0/teams/t/members/add", Some(TeamsMembers)),
        (
            "POST",
            "/v1.0/users/u/teamwork/sendActivityNotification",
            Some(TeamsNotifications),
        ),
        (
            "POST",
            "/beta/teamwork/sendActivityNotificationToRecipients",
            Some(TeamsNotifications),
        ),
        ("GET", "/v1.0/teams/t", Some(TeamsTeam)),
        ("GET", "/v1.0/teams/t/members", Some(TeamsTeam)),
        ("POST", "/v1.0/teams/t/clone", Some(TeamsTeam)),
        ("PUT", "/v1.0/groups/g/team", Some(TeamsTeam)),
        (
            "GET",
            "/v1.0/teams/t/channels/getAllMessages",
            Some(TeamsTeam),
        ),
        ("PATCH", "/v1.0/teams/t/schedule/shifts/s", Some(TeamsTeam)),
        ("POST", "/v1.0/teams", Some(TeamsOther)),
        ("GET", "/v1.0/chats", Some(TeamsOther)),
        (
            "GET",
            "/v1.0/users/u/chats/getAllMessages",
            Some(TeamsOther),
        ),
        ("GET", "/v1.0/me/joinedTeams", Some(TeamsOther)),
        ("GET", "/v1.0/appCatalogs/teamsApps", Some(TeamsOther)),
        ("GET", "/v1.0/me", None),
        ("GET", "/v1.0/users", None),
        ("GET", "/v1.0/users/onenote", None),
        ("GET", "/v1.0/users/onenote-fan", None),
        ("GET", "/v1.0/groups/g/members", None),
        ("GET", "/v1.0/applications", None),
        ("GET", "/v1.0", None),
        ("GET", "/", None),
        ("GET", "", None),
        ("GET", "///(:)/:/%", None),
    ];
    let graph = || {
        Preset::ALL
            .into_iter()
            .filter(|preset| preset.vendor() == Vendor::Graph)
    };
    for (method, path, expected) in table {
        for path in [
            (*path).to_owned(),
            path.to_ascii_uppercase(),
            format!("{path}/"),
        ] {
            let claimed: Vec<_> = graph()
                .filter(|preset| preset.claims(method, &path))
                .collect();
            assert_eq!(claimed, Vec::from_iter(*expected), "{method} {path}");
        }
    }
}

#[test]
fn all_of_notion_is_one_workload() {
    for path in ["/v1/pages", "/v1/blocks/b/children", "/", ""] {
        assert!(Notion.claims("PATCH", path), "{path}");
    }
}

/// Resource units as SharePoint lists them.
#[test]
fn sharepoint_counts_units() {
    for (method, path, query, units) in [
        ("GET", "/v1.0/drives/d/items/i", "", 1),
        ("get", "/v1.0/me/drive/root:/a/b.txt:/content", "", 1),
        ("GET", "/v1.0/me/drive/root:/a/children", "", 1),
        ("HEAD", "/v1.0/sites/root", "", 1),
        ("GET", "/v1.0/sites/s/lists/l/items/i", "$select=id", 1),
        ("GET", "/v1.0/me/drive/root/delta(token='abc')", "", 1),
        ("GET", "/v1.0/me/drive/root/delta", "token=abc", 1),
        (
            "GET",
            "/v1.0/me/drive/root/delta",
            "$select=id&%24deltatoken=abc",
            1,
        ),
        ("GET", "/v1.0/me/drive/root/delta", "", 2),
        ("GET", "/v1.0/me/drive/root/delta()", "token=", 2),
        ("GET", "/v1.0/me/drive/root/delta(token='')", "", 2),
        ("GET", "/v1.0/me/drive/root/children", "", 2),
        ("GET", "/v1.0/me/drive/root:/a:/children", "", 2),
        ("GET", "/v1.0/sites", "search=x", 2),
        ("GET", "/v1.0/sites/getAllSites", "", 2),
        ("GET", "/v1.0/sites/s/lists/l/items", "", 2),
        ("GET", "/v1.0/me/drive/search(q='x')", "", 2),
        ("PATCH", "/v1.0/drives/d/items/i", "", 2),
        ("DELETE", "/v1.0/drives/d/items/i", "", 2),
        ("PUT", "/v1.0/me/drive/root:/a.txt:/content", "", 2),
        ("GET", "/v1.0/drives/d/items/i/permissions", "", 5),
        ("DELETE", "/v1.0/drives/d/items/i/permissions/p", "", 5),
        ("POST", "/v1.0/drives/d/items/i/invite", "", 5),
        (
            "GET",
            "/v1.0/drives/d/items/i",
            "$select=id&$expand=permissions",
            5,
        ),
        (
            "GET",
            "/v1.0/drives/d/items/i",
            "expand=thumbnails,Permissions",
            5,
        ),
        ("GET", "/v1.0/drives/d/items/i", "$expand=thumbnails", 2),
        ("GET", "/v1.0/drives/d/items/i", "$select=permissions", 1),
    ] {
        assert_eq!(
            SharePoint.weight(method, path, query),
            units,
            "{method} {path}?{query}"
        );
    }
    assert_eq!(
        OneNote.weight("POST", "/v1.0/me/onenote/permissions", ""),
        1
    );
}
