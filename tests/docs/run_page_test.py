"""run_page.py itself: pages that must pass, and pages that must not."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import run_page


def follow(page, **options):
    with tempfile.TemporaryDirectory() as folder:
        return run_page.follow(page, pathlib.Path(folder), **options)


class RunPage(unittest.TestCase):
    def test_commands_share_a_folder(self):
        self.assertEqual(follow("```console\n$ mkdir a && cd a && echo x > y\n```\ntext\n```console\n$ cat y\nx\n```\n"), 2)

    def test_wildcards(self):
        page = "```console\n$ printf 'one 1\\ntwo\\nthree\\nend 4 s\\n'\none ...\n...\nend ... s\n```\n"
        self.assertEqual(follow(page), 1)

    def test_continued_command(self):
        self.assertEqual(follow("```console\n$ echo a \\\n>   b\na b\n```\n"), 1)

    def test_diff_is_applied(self):
        page = "```console\n$ printf 'a\\nb\\n' > f\n```\n```diff\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n```\n" \
               "```console\n$ cat f\na\nc\n```\n"
        self.assertEqual(follow(page), 3)

    def test_what_changes_the_system_is_run_when_asked_for(self):
        page = "```console root\n$ echo > a\n```\n```console\n$ ls\n...\n```\n"
        self.assertEqual(follow(page), 1)
        self.assertEqual(follow(page, as_root=True), 2)

    def test_other_output_is_an_error(self):
        with self.assertRaisesRegex(run_page.PageError, "line 2: .*printed something else"):
            follow("```console\n$ echo b\na\n```\n")

    def test_more_output_is_an_error(self):
        with self.assertRaisesRegex(run_page.PageError, "printed something else"):
            follow("```console\n$ printf 'a\\nb\\n'\na\n```\n")

    def test_failing_command_is_an_error(self):
        with self.assertRaisesRegex(run_page.PageError, "line 4: .*ended with 3"):
            follow("text\n\n```console\n$ exit 3\n```\n")

    def test_failing_patch_is_an_error(self):
        with self.assertRaisesRegex(run_page.PageError, "patch"):
            follow("```diff\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n```\n")

    def test_page_without_commands_is_an_error(self):
        with self.assertRaisesRegex(run_page.PageError, "no commands"):
            follow("text\n```sh\nls\n```\n")


if __name__ == "__main__":
    unittest.main()
