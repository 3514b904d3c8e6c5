<?php

return [
    'default' => 'sqlite',
    'connections' => ['sqlite' => ['driver' => 'sqlite', 'database' => dirname(__DIR__) . '/inbox.sqlite']],
    'migrations' => 'migrations',
];
