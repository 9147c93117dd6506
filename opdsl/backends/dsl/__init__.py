"""Native DSLs in which users may write overrides, one file each; the first call that needs a file imports it.

``opdsl/dispatch/overrides/native_dsl.py`` lists them by name. May import: dispatch and the layers below it; the DSL's
own package only within functions.
"""
