// Looks at the reports in `$REPORTS` (see `tests/browser.rs`, which writes them) in headless Chromium and leaves
// pictures in `$ARTIFACTS`: `REPORTS=DIR ARTIFACTS=DIR node run.mjs`.

import './checks/first_screen.mjs';
import './checks/gestures.mjs';
import './checks/panel.mjs';
import './checks/address.mjs';
import './checks/many_pods.mjs';
import './checks/jobs.mjs';
import './checks/later.mjs';
import './checks/hostile.mjs';
import './checks/accessibility.mjs';
import './checks/screens.mjs';
import './checks/others.mjs';
