"""Native DSLs in which users may write overrides, one file each; the first call that needs a file imports it.

``opdsl/dispatch/overrides/native_dsl.py`` knows them by name. May import: dispatch and what stands below it; its own
package only within functions.
"""
